# cay.cmake - CMake's toolchain file for programs of the sandbox: cmake -DCMAKE_TOOLCHAIN_FILE=…/cay.cmake …
#
# The programs beside this file are used (a source tree), else those in PATH (an installation).

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR wasm32)

find_program(CAY_CC cay-cc HINTS ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/../../bin REQUIRED)
get_filename_component(CAY_BIN ${CAY_CC} DIRECTORY)
set(CMAKE_C_COMPILER ${CAY_CC})
set(CMAKE_CXX_COMPILER ${CAY_BIN}/cay-c++)
set(CMAKE_AR ${CAY_BIN}/cay-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${CAY_BIN}/cay-ranlib CACHE FILEPATH "")
set(CMAKE_EXECUTABLE_SUFFIX .wasm)

set(BUILD_SHARED_LIBS OFF CACHE BOOL "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
