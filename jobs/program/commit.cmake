# cmake -D ROOT=… -D OUT=… [-D COMMIT=…] -P commit.cmake: writes OUT, a source file that defines commit(), anew only when it
# says something else. sources(): a digest of what the program is made of, the same with git and without. The commit of ROOT, "-modified" where files differ from it; "unknown" where that is no clone.
if(NOT COMMIT)
  execute_process(COMMAND git -C ${ROOT} describe --always --abbrev=40 --exclude=* --dirty=-modified
                  OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT EXISTS ${ROOT}/.git)
    set(COMMIT unknown)
  endif()
endif()
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/kernels/*.?pp ${ROOT}/kernels/*.cu* ${ROOT}/dist/*.?pp ${ROOT}/models/*.?pp
     ${ROOT}/jobs/*.?pp)
list(SORT sources)
set(digests "")
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} digest)
  string(APPEND digests "${digest} ${source}\n")
endforeach()
string(SHA256 SOURCES "${digests}")
string(SUBSTRING ${SOURCES} 0 16 SOURCES)
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
#include "jobs/program/build_info.hpp"

namespace holdfast {

const char* commit() {
    return "@COMMIT@";
}

const char* sources() {
    return "@SOURCES@";
}

}  // namespace holdfast
]])
