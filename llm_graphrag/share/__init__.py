"""Taking a knowledge base, or a part of it, elsewhere and bringing it back."""
