"""Tell what GPUs do while a run is recorded, by the libraries that their drivers bring."""
