# SPDX-License-Identifier: Apache-2.0

# smelt_read_version(OUT HEADER): the version that the header states, which is the
# only place that does.
function(smelt_read_version out header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
  foreach(part MAJOR MINOR PATCH)
    if(NOT text MATCHES "#define SMELT_VERSION_${part} ([0-9]+)")
      message(FATAL_ERROR "${header} does not define SMELT_VERSION_${part}")
    endif()
    list(APPEND parts ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN parts "." version)
  if(NOT text MATCHES "#define SMELT_VERSION \"${version}\"")
    message(FATAL_ERROR "${header}: SMELT_VERSION is not \"${version}\"")
  endif()
  set(${out} ${version} PARENT_SCOPE)
endfunction()
