# SPDX-License-Identifier: Apache-2.0
#
# Reads what `ctest -V` prints, shows the output of the tests that failed or were
# skipped, and ends with a line of four numbers: passed, failed, skipped, and how
# many programs that was. A program that prints "N passed, N failed" counts as
# its N cases (all of them if it prints several such lines), any other as one. A
# program that CTest does not call passed or skipped counts at least one failure,
# whatever it printed.
#
# CTest prints "12: " before each line of test 12, and when it has ended
# "3/40 Test #12: name ....   Passed    0.01 sec" or "... ***Failed ...".

function count_cases(id, text,    words) {
  split(text, words, " ")
  has_totals[id] = 1
  cases_passed[id] += words[1]
  cases_failed[id] += words[3]
  cases_skipped[id] += words[5]
}

function show(id, title) {
  printf "--- %s\n%s", title, output[id]
}

function finish(id, passes, skips,    p, f, s) {
  p = has_totals[id] ? cases_passed[id] : passes
  f = has_totals[id] ? cases_failed[id] : 0
  s = has_totals[id] ? cases_skipped[id] : skips
  if (!passes && !skips && f == 0) f = 1
  passed += p
  failed += f
  skipped += s
  programs++
}

/^[0-9]+: / {
  id = substr($1, 1, length($1) - 1)
  text = substr($0, length($1) + 2)
  output[id] = output[id] text "\n"
  if (text ~ /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/) count_cases(id, text)
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
  match($0, /#[0-9]+: /)
  id = substr($0, RSTART + 1, RLENGTH - 3)
  title = substr($0, RSTART + RLENGTH)
  passes = title ~ / Passed +[0-9.]+ sec *$/
  skips = title ~ /\*\*\*Skipped +[0-9.]+ sec *$/
  finish(id, passes, skips)
  if (!passes || cases_skipped[id] > 0) show(id, title)
}

END { print passed + 0, failed + 0, skipped + 0, programs + 0 }
