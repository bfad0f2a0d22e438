#pragma once

#include <cstdint>
#include <string>

namespace holdfast {

/// What ends every file of this program: digests of all bytes before it, so that a damaged, truncated or
/// overwritten file is known as one when it is opened.
///
/// Of an HDF5 file, which may be followed by anything: BLAKE2b-256 of every block of 4 MiB, then 56 bytes:
/// "HOLDFAST-SEAL-1\n", the number of bytes sealed (uint64, little endian), BLAKE2b-256 of the digests and
/// both. Of JSON: the last field of its object, "seal", BLAKE2b-256 of the text before the field. It shows no
/// intent: who changes a file can seal it again.

/// One rank's part of the work where several open a file together: every block is some rank's.
struct SealShare {
    int rank = 0, ranks = 1;
};

/// Ends a file that nobody else has open. Messages call it `shown`. Error (output).
void add_seal(const std::string& path, const std::string& shown);
/// Has it such an end, sound or not? False where there is no file too.
bool has_seal(const std::string& path);

/// A sealed file, held open: whoever reads `path` afterwards can ask whether it is still the same one.
class SealedFile {
  public:
    /// Errors (input): it cannot be read, has no seal, or other bytes in the share than were sealed.
    explicit SealedFile(const std::string& path, SealShare share = {});
    ~SealedFile();
    SealedFile(const SealedFile&) = delete;
    SealedFile& operator=(const SealedFile&) = delete;
    /// Error (input): the descriptor is of another file.
    void require_same(int descriptor) const;

  private:
    std::string path_;
    int descriptor_;
};

/// `text` of one JSON object with its seal.
std::string sealed_json(const std::string& text);
/// The text of a sealed JSON file, with the seal. Error (input).
std::string read_sealed_json(const std::string& path);

}  // namespace holdfast
