"""The person is the gate: what a model proposed, what was decided about it, and how a decision is taken back."""
