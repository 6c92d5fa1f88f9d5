/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt devices: what kernels can run on, and how well. */
#include <getopt.h>
#include <stdio.h>

#include "cli.h"
#include "commands.h"
#include "drivers/cuda_state.h"
#include "drivers/drivers.h"
#include "drivers/opencl_state.h"

static const char help[] =
    "usage: smelt devices\n"
    "\n"
    "Lists the devices that --device takes. For the CPU it says what runs kernels:\n"
    "code made by libLLVM, or an interpreter, which is slower, and why. Devices of OpenCL\n"
    "are listed by number, or why there are none.\n";

static int print_cpu(void) {
  static const sm_log quiet = {.enabled = 0};
  sm_device device;
  smelt_error err;
  smelt_status status = sm_device_open(&device, "cpu", sm_drivers, &sm_malloc_allocator, &quiet, &err);
  if (status != SMELT_OK) return cli_fail("devices", status, "%s", err.text);
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  device.driver->describe(&device, &text);
  if (!text.failed) printf("cpu              %s\n", text.data);
  sm_text_free(&text);
  sm_device_close(&device);
  return CLI_OK;
}

static void print_described(void (*describe)(sm_text *text)) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  describe(&text);
  if (!text.failed) fputs(text.data, stdout);
  sm_text_free(&text);
}

static int list(void) {
  int status = print_cpu();
  print_described(sm_cuda_describe);
  print_described(sm_opencl_describe);
  puts("ref              operation records one by one, by naive loops; nothing is fused");
  for (int i = 0; sm_null_profiles[i].name; i++) {
    const sm_profile *p = &sm_null_profiles[i];
    printf("null:%-11s plans and kernels only; nothing runs (%d-byte vectors, %d bindings)\n", p->name,
           p->vector_bytes, p->max_bindings);
  }
  return status;
}

int cmd_devices(int argc, char **argv) {
  int status;
  if (cli_only_help(argc, argv, help, &status)) return status;
  if (optind < argc) return cli_fail("devices", SMELT_ERR_ARGUMENT, "no arguments are taken");
  return list();
}
