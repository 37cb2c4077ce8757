"""Programs in other languages inside a shell command: what they would do, as far as their text tells."""

import re
from collections.abc import Iterator

from lamina.skill.invocation import Invocation
from lamina.skill.path import untouchable
from lamina.skill.program import INTERPRETERS, operands

_OPTIONS = re.compile(
    r"^(?:-[a-zA-Z0-9]*[cerEpnR]|--eval|--command|--exec|--execute|-ex|--run|--eval-command|-b|-x|--cmd|-run|-B|-r)$"
)
_GLUED = re.compile(r"^-[a-zA-Z]{0,3}[er](?=['\"(\w$]).{6,}|^--(?:eval|exec|execute|command)=", re.DOTALL)
_NETWORK = re.compile(
    r"\bsocket\b|\bsocket\.|TCPSocket|TCPServer|UDPSocket|fsockopen|pfsockopen|stream_socket_(?:client|server)|socket_(?:create|connect)"
    r"|IO::Socket|\buse\s+Socket|\bnet\.(?:connect|createConnection|createServer|Socket|Dial|Listen)|require\(\s*['\"](?:node:)?(?:net|tls|dgram)['\"]"
    r"|/inet6?/(?:tcp|udp)|syscall\.Socket|TcpClient|TcpStream|TcpListener|Net\.Sockets|java\.net|ServerSocket|\bDeno\.(?:connect|listen)"
    r"|Bun\.(?:connect|listen)|Sockets|gen_tcp|socketConnection|open_tcp|/dev/(?:tcp|udp)/|new\s+Socket\(|\bconnect_ex\b|AF_INET|create_connection|open_connection"
)
_FETCH = re.compile(
    r"urlopen|urlretrieve|requests\.(?:get|post)|httpx\.|file_get_contents\(\s*['\"](?:http|ftp)|open-uri|LWP|HTTP::Tiny|Net::HTTP|https?\.get"
    r"|\bfetch\(|curl_init|DownloadString|DownloadFile|Invoke-WebRequest|\biwr\b|URI\.open|(?:copy|include|require)\(\s*['\"]https?:"
)
_RUNS = re.compile(
    r"os\.system|subprocess|pty\.spawn|os\.(?:exec|spawn|popen|dup2|fork)|commands\.getoutput|\bexec\w{0,3}\s*[\(\"'{]|\bsystem\s*[\(\"'{]|popen"
    r"|\bspawn|proc_open|shell_exec|passthru|pcntl_exec|`[^`]+`|child_process|execSync|getRuntime|ProcessBuilder|os\.execute|syscall\.Exec"
    r"|exec\.Command|dup2|open\(\s*STDIN|\breopen\b|%x[\(\[{]|\bqx\b|Kernel\.|\beval\b|\bfork\b|__import__|Process\.|Deno\.(?:run|Command)"
    r"|Bun\.spawn|\|&\s*getline|\|\s*getline|print\s*\|\s*|\bshell\b|compile\(|Invoke-Expression|\biex\b|open-input-pipe|\bpipe\(|\brun\(|Popen|exec\s+\{\*\}"
)
_DECODES = re.compile(
    r"b64decode|base64\.|\batob\(|unhexlify|fromhex|['\"](?:base64|hex)['\"]|base64_decode|decode_base64|unpack\s*\(|decode64|codecs\.decode"
    r"|decompress|gzinflate|gzuncompress|str_rot13|rot13|hex2bin|marshal\.loads|pickle\.loads|(?:chr\(\s*\d+\s*\)\s*[.+,]?\s*){5,}|String\.fromCharCode"
    r"|(?:\\x[0-9a-f]{2}){6,}|FromBase64String"
)
_EVALUATES = re.compile(r"\bexec\b|\beval\b|system|popen|spawn|compile|__import__|Function\(|iex|subprocess|loads\(")
_SHELL = re.compile(
    r"(?:os\.system|os\.exec\w*|os\.spawn\w*|pty\.spawn|subprocess\.\w+|popen\d?|\bexec\w{0,3}|\bsystem|\bspawn\w*|os\.execute|shell_exec|passthru|execSync"
    r"|execFile\w*|\bterm|\bcall|\brun|!)[\s\(\[\{\"'`,]*(?:/(?:usr/)?(?:local/)?bin/)?(?:ba|z|da|k|a|c)?sh\b(?![\w.])"
)
_DELETE = re.compile(
    r"(?:rmtree|rm_rf|rm_r|remove_tree|rmSync|rmdirSync|rimraf(?:\.sync)?|fs(?:['\"]\))?\.(?:promises\.)?rm(?:dir)?|removedirs|remove_dir_all|RemoveAll|delTree|rmdir|unlink"
    r"|remove_entry_secure|deleteDir)\s*\(?\s*(?:os\.path\.expanduser\(|Path\()?\s*[rbu]?['\"]([^'\"]+)['\"]"
)
_HOME_DELETE = re.compile(
    r"(?:rmtree|rm_rf|rmSync|RemoveAll|remove_tree)\s*\(?.{0,40}(?:homedir\(\)|Path\.home|HOME|Dir\.home)"
)
_SETUID = re.compile(
    r"set(?:res|re|e)?[ug]id\s*\(\s*0|POSIX::setuid\(0|Process::Sys\.setuid|\$<\s*=\s*0|\$>\s*=\s*0|posix_setuid\(0"
)
_FORKS = re.compile(
    r"fork\s*(?:\(\s*\))?\s*(?:while|until)\b|while\s*[\(:]?\s*(?:1|true|True|\(1\))?\s*\)?[\s:{;]*[^;}\n]{0,30}\bfork\b|loop\s*(?:\{|do)\s*[^}]{0,20}\bfork\b"
    r"|\bfork\b.{0,10}\bwhile\b|for\s*\(\s*;\s*;\s*\)[\s{]*[^}]{0,20}fork|while\s+\S+\.fork\(\)|\.fork\(\)\s*(?:or|and)",
    re.DOTALL,
)
_SECRET = re.compile(r"/etc/g?shadow\b|/\.ssh/id_\w+|\.aws/credentials|/proc/(?:self|\d+)/environ|169\.254\.169\.254")
_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`([^`]*)`|%x[\(\[{]([^)\]}]*)")
_ITEM = re.compile(r"\"[^\"]*\"|'[^']*'")
_LIST = re.compile(r"(?:\"[^\"]*\"|'[^']*')(?:\s*,\s*(?:\"[^\"]*\"|'[^']*'))+")
_HOSTS = frozenset({
    "vim", "vimdiff", "nvim", "ex", "emacs", "gdb", "lldb", "rlwrap", "gimp", "mysql", "psql", "sqlite3", "nmap",
    "busctl", "nano", "ed", "tclsh", "wish", "make", "cmake", "go", "gcc", "cc", "ghc", "cargo", "java",
    "jrunscript", "dotnet", "msgfilter", "sed", "m4", "bpftrace", "rview", "rvim", "cpan", "gem", "rake", "bundle",
    "irb", "pry", "ansible", "puppet", "salt", "openvpn", "tshark", "wireshark", "redis-cli", "jjs", "cobc",
    "easy_install", "pip", "composer", "ipython", "sage", "maxima", "gnuplot", "octave", "matlab", "erl", "elixir",
    "iex", "swipl", "knife", "facter", "rpmquery", "rpm", "torify", "vagrant", "wall", "latex", "pdflatex",
    "luatex", "tex", "texindex", "slsh", "yarn", "npm", "npx", "crystal", "v", "dart", "swift", "nim", "zig", "rustc",
    "kotlin", "kotlinc", "racket", "sbcl", "clisp", "ocaml", "tcc", "g++", "clang", "javac", "scalac", "raku"
})  # fmt: skip


def programs_in(command: Invocation) -> list[str]:
    """Return the texts of other languages that `command` would run."""
    if command.name not in INTERPRETERS and command.name not in _HOSTS:
        # A file that the script wrote and now starts may be in any language.
        return list(command.given) if command.argv and "/" in command.argv[0].text else []
    texts: list[str] = list(command.given)
    words = command.words
    for at, word in enumerate(words):
        if _OPTIONS.match(word) and at + 1 < len(words):
            texts.append(words[at + 1])
        elif _GLUED.match(word):
            texts.append(word)
    if command.name.endswith("awk"):
        texts.extend(operands(words, valued="Fv")[:1])
    elif command.name in _HOSTS or command.name in ("deno", "expect"):
        texts.extend(words)
    if command.stdin and not texts:
        texts.append(command.stdin)
    if any(word.startswith("-rsocket") for word in words):
        texts = ["TCPSocket " + text for text in texts]
    return texts


def code_dangers(text: str) -> Iterator[tuple[str, str]]:
    """Yield the rule and the reason for each danger in `text`, a program in some scripting language."""
    runs = bool(_RUNS.search(text))
    if runs and _NETWORK.search(text):
        yield "reverse-shell", "a program connects the network with a command interpreter"
    if _SHELL.search(text):
        yield "shell-escape", "a program starts a shell"
    if _DECODES.search(text) and _EVALUATES.search(text):
        yield "encoded", "a program runs what it decodes"
    if _FETCH.search(text) and _EVALUATES.search(text):
        yield "remote-code", "a program runs what it downloads"
    for found in _DELETE.finditer(text):
        reason = untouchable(found[1].replace("~", "/home/user", 1) if found[1].startswith("~") else found[1])
        if reason:
            yield "delete", f"a program deletes {reason}: {found[1]}"
    if _HOME_DELETE.search(text):
        yield "delete", "a program deletes a home folder"
    if _SETUID.search(text):
        yield "privilege", "a program becomes root"
    if _FORKS.search(text):
        yield "fork-bomb", "a program multiplies itself"
    if _SECRET.search(text):
        yield "credential", "a program reads credentials"


def commands_in(text: str) -> list[str]:
    """Return the strings of the program `text` that may be shell commands, when it runs commands at all."""
    if not _RUNS.search(text):
        return []
    found = [next(part for part in match.groups() if part is not None) for match in _STRING.finditer(text)]
    # A list of strings is a command in words: ["rm", "-rf", "/"].
    lists = [" ".join(map(_shell_word, _ITEM.findall(one[0]))) for one in _LIST.finditer(text)]
    return [one for one in (*found, *lists) if len(one) > 3 and " " in one][:50]


def _shell_word(quoted: str) -> str:
    return "'" + quoted[1:-1].replace("'", "") + "'"
