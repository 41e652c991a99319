"""Recognise what a training shows, keeps and finds out about itself."""
