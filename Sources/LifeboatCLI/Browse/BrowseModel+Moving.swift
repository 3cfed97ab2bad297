import Terminal

/// Handles the keys that depend on the kind of view, scrolls the views, and takes the answers of ``BrowseSource``.
extension BrowseModel {
  mutating func pressInList(_ key: Key) {
    guard case .list(var list) = view else { return }
    let last = max(list.items.count - 1, 0)
    switch key {
    case .up, .text("k"): list.cursor -= 1
    case .down, .text("j"), .tab: list.cursor += 1
    case .pageUp, .text("b"): list.cursor -= height
    case .pageDown, .text(" "): list.cursor += height
    case .home, .text("g"): list.cursor = 0
    case .end, .text("G"): list.cursor = last
    case .left, .text("h"): return back()
    case .enter, .right, .text("l"):
      guard list.cursor < list.items.count else { return }
      return perform(list.items[list.cursor].action)
    default: return unknown(key)
    }
    list.cursor = min(max(list.cursor, 0), last)
    view = .list(list)
  }

  mutating func pressInRows(_ key: Key) {
    guard case .rows(var rows) = view else { return }
    let last = max(rows.count - 1, 0)
    let page = shownRows(rows)
    rows.followsEnd = false
    switch key {
    case .up, .text("k"): rows.cursor -= 1
    case .down, .text("j"): rows.cursor += 1
    case .pageUp, .text("b"):
      rows.cursor -= page
      rows.top -= page
    case .pageDown, .text(" "):
      rows.cursor += page
      rows.top += page
    case .home, .text("g"): rows.cursor = 0
    case .end, .text("G"):
      if let window = rows.window, window.work != nil {
        // The position of the last row is known only after all rows are counted.
        rows.followsEnd = true
        message = "reading all rows; then the last one is shown"
        ask(.rows(rows.query, window.start..<window.start + max(window.rows.count, 1)))
      } else {
        rows.cursor = last
      }
    case .left, .text("h"): rows.firstColumn -= 1
    case .right, .text("l"):
      rows.firstColumn = min(rows.firstColumn + 1, max((rows.window?.columns.count ?? 1) - 1, 0))
    case .enter:
      guard let row = rows.row(rows.cursor) else { return }
      return perform(.row(row.reference))
    case .text("f"):
      prompt = BrowsePrompt(kind: .filter, text: rows.query.filter ?? "")
      return
    case .text(":"):
      prompt = BrowsePrompt(kind: .key)
      return
    case .text("d"): return changeRows { $0.isPast.toggle() }
    case .text("s"), .text("S"):
      let isSort = key == .text("s")
      push(
        .list(
          isSort
            ? ListView(
              .sorting(rows.query), title: "Sort by (the same property again reverses the order)")
            : ListView(.sections(rows.query), title: "Sections by")))
      return ask(.keyPaths(rows.query))
    case .text("u"):
      return changeRows {
        $0.sort = nil
        $0.section = nil
        $0.isDescending = false
      }
    case .text("]"), .text("["):
      let starts = rows.window?.sectionStarts ?? []
      guard !starts.isEmpty else { return message = "there are no sections; press S to make them" }
      let cursor = rows.cursor
      let target =
        key == .text("]") ? starts.first { $0 > cursor } : starts.last { $0 < cursor }
      rows.cursor = target ?? cursor
      rows.top = rows.cursor
    default: return unknown(key)
    }
    rows.cursor = min(max(rows.cursor, 0), last)
    rows.firstColumn = max(rows.firstColumn, 0)
    view = .rows(rows)
  }

  mutating func pressInText(_ key: Key) {
    guard case .text(var text) = view else { return }
    switch key {
    case .up, .text("k"): text.top -= 1
    case .down, .text("j"), .enter: text.top += 1
    case .pageUp, .text("b"): text.top -= height
    case .pageDown, .text(" "): text.top += height
    case .home, .text("g"): text.top = 0
    case .end, .text("G"): text.top = .max
    case .left, .text("h"): return back()
    case .text("x"):
      guard text.text.bytes != nil else { return message = "this value cannot be shown as bytes" }
      text.showsBytes.toggle()
      text.top = 0
    default: return unknown(key)
    }
    view = .text(text)
  }

  private mutating func unknown(_ key: Key) {
    if case .text(let text) = key { message = "\(text) does nothing here; ? shows the keys" }
  }

  // MARK: - Settling

  /// Moves the cursor and the top of the view into the range of existing items, rows or lines. Then requests the rows
  /// that the screen needs, unless the ``RowsWindow`` contains them.
  mutating func settle() {
    switch view {
    case .list(var list):
      list.cursor = min(max(list.cursor, 0), max(list.items.count - 1, 0))
      // Each item takes at least one line.
      list.top = min(max(list.top, list.cursor - height + 1, 0), list.cursor)
      var lines = 0
      for place in stride(from: list.cursor, through: list.top, by: -1) {
        lines += itemLines(list, place).count
        if lines > height, place < list.cursor {
          list.top = place + 1
          break
        }
      }
      view = .list(list)
    case .rows(var rows):
      // Without a `RowsWindow`, the number of rows is not known yet, so the cursor is not moved.
      if let window = rows.window {
        let last = max(window.count - 1, 0)
        if rows.followsEnd, window.work == nil {
          rows.cursor = last
          rows.followsEnd = false
          message = nil
        }
        rows.cursor = min(max(rows.cursor, 0), last)
      }
      rows.height = max(height - 1, 1)
      rows.top = min(max(rows.top, 0), rows.cursor)
      let shown = shownRows(rows)
      if rows.cursor >= rows.top + shown {
        rows.top = rows.cursor - max(shown, 1) + 1
        // Headings of sections take lines as well, so `top` may have to move further.
        while rows.top < rows.cursor, rows.cursor >= rows.top + shownRows(rows) { rows.top += 1 }
      }
      let isComplete = rows.window?.work == nil && rows.window != nil
      let end =
        isComplete ? min(rows.top + rows.height, rows.count) : rows.top + rows.height
      let has = rows.window.map { $0.start..<$0.start + $0.rows.count } ?? 0..<0
      if rows.window == nil || rows.top < has.lowerBound || end > has.upperBound {
        let request = BrowseRequest.rows(
          rows.query, max(rows.top - rows.height, 0)..<rows.top + 2 * rows.height)
        // The same range is not requested twice, even if the answer contains fewer rows than the range.
        if rows.asked != request {
          rows.asked = request
          ask(request)
        }
      } else {
        rows.asked = nil
      }
      view = .rows(rows)
    case .text(var text):
      text.wrap(to: max(columns, 10))
      text.top = min(max(text.top, 0), max(text.lineCount - height, 0))
      view = .text(text)
    }
  }

  /// Returns the number of rows, at least 1, that fit on the screen if ``RowsView/top`` is the first row shown. Section
  /// headings also take up lines of the screen.
  func shownRows(_ rows: RowsView) -> Int {
    var lines = 0
    var shown = 0
    while lines < rows.height {
      let row = rows.row(rows.top + shown)
      if let row, row.section != nil, row.beginsSection || shown == 0 { lines += 1 }
      lines += 1
      if lines <= rows.height { shown += 1 }
    }
    return max(shown, 1)
  }

  // MARK: - Answers

  /// Takes an answer of ``BrowseSource``, and fills the views that wait for the answer. An answer that no view waits
  /// for is dropped.
  mutating func take(_ answer: BrowseAnswer) {
    switch answer {
    case .working(let text, let isStoppable):
      // The text of work that Esc cannot stop must not replace the text of work that Esc can stop, because the status
      // line has to say "Esc stops".
      if !isStoppable, self.isStoppable, !working.isEmpty { break }
      working = text
      self.isStoppable = isStoppable
    case .failed(let text):
      message = text
      working = ""
      dropEmptyView()
    case .list(let kind, let items, let title, let note):
      fill(kind, items, title: title, note: note)
    case .keyPaths(let query, let paths):
      let none = ListItem(label: "(none)", text: "no sections", action: .section(nil))
      fill(
        .sorting(query), paths.map { ListItem(label: $0, text: "", action: .sort($0)) }, note: nil)
      fill(
        .sections(query),
        [none] + paths.map { ListItem(label: $0, text: "", action: .section($0)) }, note: nil)
    case .rows(let query, let window):
      for place in views.indices {
        guard case .rows(var rows) = views[place], rows.query == query else { continue }
        rows.window = window
        views[place] = .rows(rows)
      }
    case .found(let query, let place):
      working = ""
      guard case .rows(var rows) = view, rows.query == query else { return }
      guard let place else {
        message =
          "not found: " + (rows.soughtKey.map { "the key \($0)" } ?? "\"\(rows.search ?? "")\"")
        rows.asked = nil
        view = .rows(rows)
        return settle()
      }
      rows.cursor = place
      rows.followsEnd = false
      // The search may have replaced a request for rows, so the rows may be requested again.
      rows.asked = nil
      if place < rows.top || place >= rows.top + rows.height {
        rows.top = max(place - rows.height / 2, 0)
      }
      // The row that was found may be beyond the rows that are known so far.
      let known = rows.count
      rows.window?.count = max(known, place + 1)
      view = .rows(rows)
    case .text(let kind, let text):
      for place in views.indices {
        guard case .text(var view) = views[place], view.kind == kind else { continue }
        view.set(text)
        views[place] = .text(view)
      }
    case .past: break
    }
    settle()
  }

  private mutating func fill(
    _ kind: ListView.Kind, _ items: [ListItem], title: String? = nil, note: String?
  ) {
    for place in views.indices {
      guard case .list(var list) = views[place], list.kind == kind else { continue }
      list.items = items
      list.note = note
      list.title = title ?? list.title
      list.isLoaded = true
      views[place] = .list(list)
    }
  }

  /// Leaves the present view if its content was never received. This is called after a reading has failed.
  private mutating func dropEmptyView() {
    let isEmpty =
      switch view {
      case .list(let list): !list.isLoaded
      case .rows(let rows): rows.window == nil
      case .text(let text): !text.isLoaded
      }
    if isEmpty, views.count > 1 { views.removeLast() }
  }
}
