/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing JSON, member by member.
 *
 * `name` is that of a member; NULL in an array or at the top. A comma goes before
 * whatever is not the first: the writer looks at the last character, so text of the
 * caller's own must not end in a bracket that opens. Strings are UTF-8 already. */
#ifndef SM_BASE_JSON_H
#define SM_BASE_JSON_H

#include "base/text.h"

/* "{" or "[", and what closes it. */
void sm_json_open(sm_text *text, const char *name, char bracket);
void sm_json_close(sm_text *text, char bracket);
void sm_json_string(sm_text *text, const char *name, const char *value);
void sm_json_integer(sm_text *text, const char *name, int64_t value);
/* With three digits behind the point; JSON has no NaN and no infinity. */
void sm_json_number(sm_text *text, const char *name, double value);
void sm_json_bool(sm_text *text, const char *name, bool value);
/* Only the comma and the name: the value is the caller's to add. */
void sm_json_name(sm_text *text, const char *name);

#endif
