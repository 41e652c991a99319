"""The former place of what is in ``redaction/``."""

from rlprof.recording.redaction.arguments import redact_arguments as redact_arguments
from rlprof.recording.redaction.environment import kept_environment as redact_environment

__all__ = ["redact_arguments", "redact_environment"]
