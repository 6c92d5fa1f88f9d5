/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of smelt. A command is called with its own name as argv[0] and
 * answers the exit status (cli.h); it has the whole process for itself. To add
 * one, add a line to commands.def and a file cmd_NAME.c. */
#ifndef SMELT_TOOL_COMMANDS_H
#define SMELT_TOOL_COMMANDS_H

#define COMMAND(name, doc) int cmd_##name(int argc, char **argv);
#include "commands.def"
#undef COMMAND

#endif
