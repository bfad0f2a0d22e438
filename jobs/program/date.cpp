#include "jobs/program/date.hpp"

#include <chrono>

#include "kernels/base/text.hpp"

namespace holdfast {

std::string date_of(std::int64_t milliseconds) {
    using namespace std::chrono;
    const sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(milliseconds)};
    const year_month_day day(floor<days>(time));
    return printed("%04d-%02u-%02u", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                   static_cast<unsigned>(day.day()));
}

std::string time_of(std::int64_t milliseconds) {
    const std::int64_t second = milliseconds / 1000 % 86400;
    return date_of(milliseconds) + printed("T%02d:%02d:%02dZ", static_cast<int>(second / 3600),
                                           static_cast<int>(second / 60 % 60), static_cast<int>(second % 60));
}

}  // namespace holdfast
