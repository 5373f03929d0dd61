# Prints the share of covered statements of each package, and fails when one that is held to the bar is under it.
# First file: the packages that have code. Second: a cover profile, in which a block may stand once for each test binary.
FNR == NR { known[$1] = 1; next }
/^mode:/ { next }
{
  split($1, at, ":")
  file = at[1]
  sub(/\/[^\/]*$/, "", file)
  block = $1
  if (!(block in size)) {
    size[block] = $2
    pkg[block] = file
  }
  if ($3 > 0) hit[block] = 1
}
END {
  for (b in size) {
    total[pkg[b]] += size[b]
    if (b in hit) got[pkg[b]] += size[b]
  }
  bad = 0
  for (p in known) {
    if (total[p] == 0) continue
    share = 100 * got[p] / total[p]
    mark = p ~ held && share < bar ? "   UNDER " bar "%" : ""
    if (mark != "") bad = 1
    printf "   %6.1f%%  %s%s\n", share, p, mark | "sort -k2"
  }
  close("sort -k2")
  exit bad
}
