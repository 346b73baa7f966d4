"""What readers tell about themselves: a picture, a text, links and favourite books."""
