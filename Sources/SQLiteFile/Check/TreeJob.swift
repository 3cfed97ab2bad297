/// A b-tree to be walked, and what its records must be.
struct TreeJob {
  /// What kind of entry of the schema calls for the walk.
  enum Subject {
    case schema
    /// A table, by its name in small letters.
    case table(String)
    /// An index, by its place in the schema's entries.
    case index(Int)
  }

  let subject: Subject
  let owner: StructureCheck.Owner
  /// Whether it is keyed by row id; nil when only its root can tell.
  let isTable: Bool?
  let rules: RecordRules
}

/// What came of a walk.
struct TreeResult {
  var counts = BTreeCheck.Counts()
  var findings = FindingList()
  var breaches: [DemandBreach] = []
}

/// What came of all walks together.
struct Gathered {
  var findings = FindingList()
  var breaches: [DemandBreach] = []
  /// By the name of the table in small letters.
  var rowCounts: [String: BTreeCheck.Counts] = [:]
  /// By the place in the schema's entries.
  var indexCounts: [Int: BTreeCheck.Counts] = [:]
  var checkedPages = 0
  var overflowPages = 0
  var cells = 0
  var rows = 0
  var indexEntries = 0

  mutating func take(_ result: TreeResult, of job: TreeJob) {
    let counts = result.counts
    findings.add(result.findings)
    breaches += result.breaches
    checkedPages += counts.pages + counts.overflowPages
    overflowPages += counts.overflowPages
    cells += counts.cells
    switch job.subject {
    case .schema: break
    case .table(let name):
      rowCounts[name] = counts
      rows += counts.entries
    case .index(let place):
      indexCounts[place] = counts
      indexEntries += counts.entries
    }
  }
}

extension BTreeCheck {
  /// Walks the b-tree of a job; `number` is its number in the page map.
  mutating func run(_ job: TreeJob, number: Int, _ reader: inout PageReader) throws(SQLiteFileError)
    -> TreeResult
  {
    var result = TreeResult()
    result.counts = try run(
      Tree(
        name: job.owner.name, number: UInt32(truncatingIfNeeded: number), root: job.owner.root,
        isTable: job.isTable, rules: job.rules), &reader)
    let found = records.takeFindings(job.owner.name, job.rules.names)
    for finding in found.findings { findings.add(finding) }
    result.findings = findings
    result.breaches = found.breaches
    findings = FindingList()
    return result
  }
}
