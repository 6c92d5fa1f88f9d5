# SPDX-License-Identifier: Apache-2.0
#
# How the project's targets are made.

include(CheckLinkerFlag)
check_linker_flag(C -Wl,-z,defs SMELT_LINKER_HAS_Z_DEFS)

if(SMELT_SANITIZE)
  add_compile_options(-fsanitize=${SMELT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SMELT_SANITIZE})
endif()

# smelt_compile_strictly(TARGET): our flags and include paths, for code of ours.
# Measured: nothing but the loops of kops_*.c is slower with -O2 than with CMake's
# -O3, which makes the library a tenth larger. The results of tensor operations are
# defined bit for bit, so the compiler may not contract a*b+c, and never assumes that
# there is no NaN or infinity. Two of gcc's warnings are off that come and go with its
# optimiser: -Wmaybe-uninitialized does not see that an output is filled whenever the
# status is OK (./dev lint does), -Wformat-truncation does not like text that is cut
# on purpose.
function(smelt_compile_strictly target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE
    $<$<CONFIG:Release>:-O2>
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${SMELT_WERROR}>:-Werror>
    $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
    -ffp-contract=off -fno-math-errno -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
endfunction()

# smelt_add_library(NAME SOURCES): libNAME.a and libNAME.so of the same objects, as
# the targets NAME_static and NAME_shared with _ for -.
function(smelt_add_library name sources)
  string(REPLACE "-" "_" target ${name})
  add_library(${target}_static STATIC ${sources})
  add_library(${target}_shared SHARED $<TARGET_OBJECTS:${target}_static>)
  smelt_compile_strictly(${target}_static)
  foreach(library ${target}_static ${target}_shared)
    set_target_properties(${library} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C
      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    target_include_directories(${library} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  # Every symbol is resolved when the library is linked. Sanitizers of clang leave
  # theirs to the program.
  if(SMELT_LINKER_HAS_Z_DEFS AND NOT SMELT_SANITIZE)
    target_link_options(${target}_shared PRIVATE -Wl,-z,defs)
  endif()
  # Threads call the library when they end, so it stays once it has been opened.
  if(NOT APPLE)
    target_link_options(${target}_shared PRIVATE -Wl,-z,nodelete)
  endif()
endfunction()

# smelt_link_statically(TARGET): with all our libraries that there are.
function(smelt_link_statically target)
  if(TARGET smelt_io_static)
    target_link_libraries(${target} PRIVATE smelt_io_static)
  endif()
  target_link_libraries(${target} PRIVATE smelt_static m)
endfunction()

# smelt_add_program(TARGET SOURCES...)
function(smelt_add_program target)
  add_executable(${target} ${ARGN})
  if(SMELT_SANITIZE)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/sanitizer_options.c)
  endif()
  smelt_compile_strictly(${target})
  smelt_link_statically(${target})
endfunction()

# smelt_add_programs(FOLDER): a program for each of its C files, in build/FOLDER.
function(smelt_add_programs folder)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    smelt_add_program(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
  endforeach()
endfunction()

# The command, as a library of its parts, which tests can link, and main.c.
function(smelt_add_command)
  file(GLOB sources CONFIGURE_DEPENDS tools/smelt/*.c)
  set(main ${PROJECT_SOURCE_DIR}/tools/smelt/main.c)
  if(NOT main IN_LIST sources)
    return()
  endif()
  list(REMOVE_ITEM sources ${main})
  add_library(smelt_command_parts STATIC ${sources})
  smelt_compile_strictly(smelt_command_parts)
  target_include_directories(smelt_command_parts INTERFACE ${PROJECT_SOURCE_DIR}/tools/smelt)
  smelt_link_statically(smelt_command_parts)
  smelt_add_program(smelt_command ${main})
  target_link_libraries(smelt_command PRIVATE smelt_command_parts)
  set_target_properties(smelt_command PROPERTIES OUTPUT_NAME smelt)
endfunction()

# opgen writes what follows from src/ir/ops.def and src/core/functions.def: `opgen .`
# into the source tree, the target `generated` into the build folder. It is built
# without the library. Its parts, all but opgen.c, are a library that tests can link.
function(smelt_add_opgen)
  file(GLOB sources CONFIGURE_DEPENDS tools/opgen/*.c)
  set(main ${PROJECT_SOURCE_DIR}/tools/opgen/opgen.c)
  list(REMOVE_ITEM sources ${main})
  add_library(opgen_parts STATIC ${sources})
  smelt_compile_strictly(opgen_parts)
  target_include_directories(opgen_parts INTERFACE ${PROJECT_SOURCE_DIR}/tools/opgen)
  add_executable(opgen ${main})
  smelt_compile_strictly(opgen)
  target_link_libraries(opgen PRIVATE opgen_parts)
  add_custom_target(generated COMMAND opgen ${PROJECT_BINARY_DIR}/generated)
endfunction()

# smelt_hash_sources(VARIABLE PATTERNS...): 16 hexadecimal digits that change with any
# of the files. CMake runs again when one does.
function(smelt_hash_sources variable)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  set(hashes "")
  foreach(source ${sources})
    file(SHA256 ${source} hash)
    string(APPEND hashes ${hash})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  string(SHA256 hash "${hashes}")
  string(SUBSTRING ${hash} 0 16 hash)
  set(${variable} ${hash} PARENT_SCOPE)
endfunction()
