"""The earlier audit with which a new one is compared."""

from fnmatch import fnmatchcase

from rebalance_sim.engine.runs.files import Files, is_pattern
from rebalance_sim.engine.runs.recorded_runs import RecordedRun, recorded_run, run_of_job
from rebalance_sim.engine.runs.run_files import RECORD, read_json

PREVIOUS = "previous"
"""The option that names it, and its key in the record of an audit."""
_JOB, _OPTION = "audit", f"--{PREVIOUS}"


def previous_audit(files: Files, given: str, out: str) -> RecordedRun | None:
    """Return the earlier audit; None if no folder is given, or no finished audit matches a pattern.

    Of a pattern it is the last by name, and before ``out`` if that matches too, so that a repeated run of a date is
    compared with the same audit again. Raises UserError for a folder without a finished audit.
    """
    if not given:
        return None
    if not is_pattern(given):
        return run_of_job(files, _OPTION, given, _JOB)
    own = files.full(out)
    is_dated = fnmatchcase(own, files.full(given))
    folders = {files.full(folder) for folder in files.matching(given)} - {own}
    for folder in sorted(folders, reverse=True):
        record = read_json(files, f"{folder}/{RECORD}")
        if (folder < own or not is_dated) and record is not None and record.get("job") == _JOB:
            return recorded_run(files, _OPTION, folder)
    return None
