"""The example agent, word for word as its guide runs it: it fails at first, and not the second time."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "examples" / "adk"


def talk(folder: Path, session: str, *messages: str) -> list[str]:
    """What one process prints that talks to the agent."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LAMINA_", "GOOGLE_"))}
    command = [sys.executable, "-W", "error", str(HERE / "talk.py"), session, *messages]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_agent_fails_at_first_and_not_the_second_time_in_a_new_session_and_a_new_process(tmp_path: Path) -> None:
    first = talk(tmp_path, "monday", "please book friday", "No, days are written YYYY-MM-DD")
    assert first == [
        "you:    please book friday",
        "booker: book_room({'day': 'friday'})",
        "booker: That failed: cannot read the day 'friday'.",
        "you:    No, days are written YYYY-MM-DD",
        "booker: remember({'fix': 'days are written YYYY-MM-DD'})",
        "booker: Thank you, I will remember that.",
    ]
    assert talk(tmp_path, "tuesday", "please book friday") == [
        "you:    please book friday",
        "booker: book_room({'day': '2026-05-08'})",
        "booker: Booked for 2026-05-08.",
    ]
