"""Every line of the first file outside of aesop functions stands in the second one, in order, unchanged. Line markers do not count."""
import sys

source, output = (open(name).read().split("\n") for name in sys.argv[1:3])
lines, inside = [], False
for line in source:
    if "aesop " in line or "__aesop" in line:
        inside = not line.rstrip().endswith(("}", ";"))
        continue
    if not inside and line.strip() and not line.startswith("#"):
        lines.append(line)
    if line == "}":
        inside = False
at = 0
for line in lines:
    if line not in output[at:]:
        print("not in the output, or not in its place:", line)
        sys.exit(1)
    at = output.index(line, at) + 1
print(len(lines), "lines are the same")
