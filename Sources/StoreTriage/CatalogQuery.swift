import SQLiteWriter

/// A question that a ``Catalog`` can answer. The raw value is the name of the question on the command line.
package enum CatalogQuery: String, Sendable, CaseIterable {
  case new, worse, fixes, unexplained, frequent, trend, models, places, unread, duplicates

  /// The question in words, as a clause.
  package var question: String {
    switch self {
    case .new: "which cases are new since a given day, or in a given build"
    case .worse: "which build made a case more frequent"
    case .fixes: "what helps with which input"
    case .unexplained: "which cases neither a verdict nor an analyser explains"
    case .frequent: "which cases are the most frequent"
    case .trend: "how many cases there are on each day"
    case .models: "which models wrote the stores, and which the app expects"
    case .places: "where the damage is"
    case .unread: "which inputs are encrypted or cannot be read"
    case .duplicates: "which stores came in several inputs"
    }
  }

  package struct Bounds: Sendable {
    /// The first day, for example `2026-11-20`. Only inputs from this day on are used; nil for all days.
    package var since: String?
    /// The build, written as in ``TriageSignature/build``. Only inputs of this build are used; nil for all builds.
    package var build: String?
    package var limit = 50

    package init() {}
  }

  /// Returns the SQL statement of this query and the values to bind. Every statement has the parameters ?1 (the first
  /// day), ?2 (the build) and ?3 (the maximum number of rows).
  func statement(_ bounds: Bounds) -> (String, [SQLiteValue]) {
    // Three values are bound, so each statement must contain ?1, ?2 and ?3. The terms with `0 *` make sure of this, and
    // do not change the limit.
    return (
      sql.replacing(place: "LIMITED", with: "LIMIT ?3 + 0 * (?1 IS NULL) + 0 * (?2 IS NULL)")
        .replacing(
          place: "CHOSEN",
          with: "needs_care AND (?1 IS NULL OR day >= ?1) AND (?2 IS NULL OR build = ?2)"),
      [.string(bounds.since), .string(bounds.build), .integer(Int64(bounds.limit))]
    )
  }

  private var sql: String {
    switch self {
    case .frequent:
      """
      SELECT count(*) AS inputs, family, min(words) AS words, min(day) AS first_day,
        max(day) AS last_day, count(DISTINCT build) AS builds, min(path) AS example
      FROM input WHERE CHOSEN GROUP BY family ORDER BY inputs DESC, family LIMITED
      """
    case .new:
      """
      WITH seen AS (
        SELECT family, min(day) AS first_day,
          max(build IS NOT ?2) = 0 AS is_of_build
        FROM input WHERE needs_care GROUP BY family)
      SELECT count(*) AS inputs, input.family, min(words) AS words, seen.first_day,
        min(path) AS example
      FROM input JOIN seen ON seen.family = input.family
      WHERE needs_care AND (?1 IS NULL OR seen.first_day >= ?1) AND (?2 IS NULL OR seen.is_of_build)
      GROUP BY input.family ORDER BY seen.first_day DESC, inputs DESC, input.family LIMITED
      """
    case .worse:
      """
      WITH of_build AS (
        SELECT build, count(*) AS inputs, min(day) AS first_day FROM input
        WHERE build IS NOT NULL GROUP BY build),
      cases AS (
        SELECT family, input.build, count(*) AS cases, min(words) AS words,
          of_build.inputs, of_build.first_day
        FROM input JOIN of_build ON of_build.build = input.build
        WHERE needs_care GROUP BY family, input.build),
      shares AS (
        SELECT *, 100.0 * cases / inputs AS share,
          100.0 * (
            SELECT coalesce(sum(earlier.cases), 0) FROM cases AS earlier
            WHERE earlier.family = cases.family AND earlier.first_day < cases.first_day)
          / (
            SELECT sum(earlier.inputs) FROM of_build AS earlier
            WHERE earlier.first_day < cases.first_day) AS share_before
        FROM cases)
      SELECT build, family, words, cases, inputs, round(share, 1) AS percent,
        round(share_before, 1) AS percent_before
      FROM shares WHERE share > share_before AND (?1 IS NULL OR first_day >= ?1)
        AND (?2 IS NULL OR build = ?2)
      ORDER BY share - share_before DESC, cases DESC, family, build LIMITED
      """
    case .fixes:
      """
      SELECT fix, path, store_uuid, build, family, rows_recoverable FROM input
      WHERE fix IS NOT NULL AND CHOSEN ORDER BY fix, path LIMITED
      """
    case .unexplained:
      """
      SELECT count(*) AS inputs, family, min(words) AS words, min(path) AS example FROM input
      WHERE CHOSEN AND failed_code IS NULL
        AND verdict NOT IN ('incompatible', 'newer', 'unavailable') AND NOT EXISTS (
        SELECT 1 FROM analyser WHERE analyser.path = input.path AND id <> 'cloudkit.mirrored')
      GROUP BY family ORDER BY inputs DESC, family LIMITED
      """
    case .trend:
      """
      SELECT day, count(*) AS inputs, count(DISTINCT family) AS families,
        sum(failed_code IS NOT NULL) AS unread
      FROM input WHERE CHOSEN GROUP BY day ORDER BY day DESC LIMITED
      """
    case .models:
      """
      SELECT model_written_by, model_expected, count(*) AS inputs, count(DISTINCT family) AS families,
        min(path) AS example
      FROM input WHERE CHOSEN AND model_written_by IS NOT NULL
      GROUP BY model_written_by, model_expected ORDER BY inputs DESC, 1, 2 LIMITED
      """
    case .places:
      """
      SELECT id, place, table_name, count(DISTINCT input.path) AS inputs, sum(count) AS findings
      FROM place JOIN input ON input.path = place.path WHERE CHOSEN
      GROUP BY id, place, table_name ORDER BY inputs DESC, findings DESC, 1, 2, 3 LIMITED
      """
    case .unread:
      """
      SELECT problem, path, kind, is_encrypted, fix, failed_message FROM input
      WHERE CHOSEN AND (failed_code IS NOT NULL OR problem IS NOT NULL) ORDER BY problem, path LIMITED
      """
    case .duplicates:
      """
      SELECT store_uuid, count(*) AS inputs, count(DISTINCT family) AS families, min(day) AS first_day,
        max(day) AS last_day, min(path) AS first_path, max(path) AS last_path
      FROM input WHERE store_uuid IS NOT NULL AND (?1 IS NULL OR day >= ?1)
        AND (?2 IS NULL OR build = ?2)
      GROUP BY store_uuid HAVING count(*) > 1 ORDER BY inputs DESC, store_uuid LIMITED
      """
    }
  }
}

extension String {
  /// Returns this string with each occurrence of `word` replaced by `text`. The strings are compared byte by byte.
  fileprivate func replacing(place word: String, with text: String) -> String {
    String(
      decoding: Array(utf8).replacing(Array(word.utf8), with: Array(text.utf8)), as: UTF8.self)
  }
}
