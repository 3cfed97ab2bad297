/// A date of the proleptic Gregorian calendar, computed without the system's calendar.
package struct CivilDate {
  package let year: Int
  package let month: Int
  package let day: Int

  /// Creates the date of a day. `number`: the number of days since 0000-03-01; day 719,468 is 1970-01-01.
  package init(dayNumber number: Int) {
    // Each era of 400 years has 146,097 days. In this computation, years start in March so that the leap day is the
    // last day of a year.
    let era = (number >= 0 ? number : number - 146_096) / 146_097
    let ofEra = number - era * 146_097
    let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * ofYear + 2) / 153
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    day = ofYear - (153 * shiftedMonth + 2) / 5 + 1
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }
}

/// Returns the decimal digits of a number that is not negative, with zeros before them up to `width` digits.
package func padded(_ number: Int, _ width: Int) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}
