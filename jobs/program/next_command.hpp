#pragma once

#include <string>
#include <vector>

namespace holdfast {

/// In quotes, whatever it is.
std::string shell_quoted(const std::string& word);
/// In quotes where the shell would read more than a word.
std::string shell_word(const std::string& word);

/// This program as it was called: "holdfast" where it is on the PATH, or "build/holdfast".
std::string called_program();
/// The last line of what a command prints, "Next: holdfast …": the command that goes on from here, as a shell
/// takes it, by the program as it was called.
std::string next_command(const std::vector<std::string>& words);

/// "FILE" or "FILE:SPLIT" without split and ending, and with this one instead: of what is made of the
/// dataset.
std::string beside_dataset(const std::string& name, const std::string& ending);

/// The split of test records beside a dataset, "FILE:test", if its file is there and has one; else empty.
std::string test_split(const std::string& name);

}  // namespace holdfast
