"""The command line: thin, the same public functions as anybody calls.

Nothing heavy is imported before it is needed, so that help and errors come at once.
"""

from ._errors import in_words as in_words
from ._main import main as main
