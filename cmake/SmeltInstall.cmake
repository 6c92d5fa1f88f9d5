# SPDX-License-Identifier: Apache-2.0
#
# Installation: headers, libraries, the command, the CMake package `smelt` with
# smelt::smelt and smelt::io (shared) and smelt::smelt_static and smelt::io_static,
# and smelt.pc and smelt-io.pc.

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/smelt)

# smelt_install_library(TARGET EXPORTED_NAME)
function(smelt_install_library target exported)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported})
  add_library(smelt::${exported} ALIAS ${target})
  install(TARGETS ${target} EXPORT smelt-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# smelt_install_pkg_config(NAME): from cmake/NAME.pc.in. The file finds the prefix
# from its own place, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
function(smelt_install_pkg_config name)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/smelt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
smelt_install_library(smelt_shared smelt)
smelt_install_library(smelt_static smelt_static)
smelt_install_pkg_config(smelt)
if(TARGET smelt_io_shared)
  smelt_install_library(smelt_io_shared io)
  smelt_install_library(smelt_io_static io_static)
  smelt_install_pkg_config(smelt-io)
endif()
if(TARGET smelt_command)
  install(TARGETS smelt_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(EXPORT smelt-targets NAMESPACE smelt:: DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/smelt-config.cmake.in
  ${PROJECT_BINARY_DIR}/smelt-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/smelt-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/smelt-config.cmake ${PROJECT_BINARY_DIR}/smelt-config-version.cmake
  DESTINATION ${package_folder})
