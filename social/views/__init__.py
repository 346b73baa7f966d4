"""The pages of social, thin: one file for each kind."""
