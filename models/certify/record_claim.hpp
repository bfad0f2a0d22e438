#pragma once

#include <string>
#include <utility>

#include "models/privacy/guarantee.hpp"

namespace holdfast {

struct DataFacts;
struct RecordUse;
struct Settings;

/// A guarantee that states what it rests on about the records themselves. Only claim_about_records()
/// (models/certify/claims.hpp) makes one that claims anything: what asks for this type, as every kind of
/// training, every label and every publication does, cannot leave such a condition out.
class RecordClaim : public Guarantee {
  public:
    static RecordClaim not_private(std::string statement, std::string reason) {
        return RecordClaim(Guarantee::not_private(std::move(statement), std::move(reason)));
    }

  private:
    explicit RecordClaim(Guarantee claim) : Guarantee(std::move(claim)) {}
    friend RecordClaim claim_about_records(std::string, const Settings&, const DataFacts&, const RecordUse&);
};

}  // namespace holdfast
