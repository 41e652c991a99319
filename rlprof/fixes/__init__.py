"""Step beside the report: the change of the user's source that a finding asks for, made so that comments and layout stay."""
