# cmake -D ROOT=… -D OUT=… [-D COMMIT=…] -P commit.cmake: writes OUT, a source file that defines commit(), anew only when it
# says something else. The commit of ROOT, "-modified" where files differ from it; "unknown" where that is no clone.
if(NOT COMMIT)
  execute_process(COMMAND git -C ${ROOT} describe --always --abbrev=40 --exclude=* --dirty=-modified
                  OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT EXISTS ${ROOT}/.git)
    set(COMMIT unknown)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
#include "jobs/build_info.hpp"

namespace holdfast {

const char* commit() {
    return "@COMMIT@";
}

}  // namespace holdfast
]])
