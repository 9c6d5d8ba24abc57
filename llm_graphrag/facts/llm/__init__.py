"""What a model is asked about a window of text, and how its reply is read: pure rules, no call and no storage."""
