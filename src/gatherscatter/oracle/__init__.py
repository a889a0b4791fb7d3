"""The judge: what the specification says, computed slowly and literally."""
