"""Write the sentences of errors and hints as a C++ header: python embed_sentences.py sentences.toml sentences.inc"""

import sys
import tomllib
from pathlib import Path

SECTIONS = ("errors", "parts", "hints")  # the other sections are not used in C++


def main(source: Path, target: Path) -> None:
    known = tomllib.loads(source.read_text(encoding="utf-8"))
    lines = [f"// Made from {source.name}: {{name, raises, text}}."]
    for section in SECTIONS:
        for name, sentence in known[section].items():
            parts = {"raises": "", "text": sentence} if isinstance(sentence, str) else sentence
            lines.append("{" + ", ".join(map(_literal, (f"{section}.{name}", parts["raises"], parts["text"]))) + "},")
    groups = "".join(f" {' '.join(words)} ;" for words in known["same_meaning"]["words"])
    lines.append("{" + ", ".join(map(_literal, ("same_meaning", "", groups))) + "},")
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _literal(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError(f"not plain ASCII: {text}")
    return '"' + text.replace("\\", r"\\").replace('"', r"\"") + '"'


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
