/// How the page looks: on a desk, on a phone, in the dark and on paper.
extension TestPage {
  static let style = colours + screen + "\n" + print

  /// Each has its own lightness as well as its own hue, and its text a contrast of 4.5 to 1 with it (WCAG 2.2, 1.4.3).
  private static let colours = """
    :root {
      color-scheme: light; --back: #fff; --text: #1c2024; --dim: #5b636c; --line: #d9dde2; --soft: #f4f6f8; --link: #0b57b0;
      --ok: #1a7f37; --bad: #c4202a; --on-mark: #fff; --bad-soft: #fdeeee;
      --denied: #ffd978; --on-denied: #402c00; --ended: #6338b5; --on-ended: #fff;
      --returned: #d5f0dc; --on-returned: #10491f; --limited: #e2d7f8; --on-limited: #412081;
      --refused: #ffe7a8; --on-refused: #4f3700; --broken: #fbd3da; --on-broken: #7c1128;
      --missing: #d3e6fb; --on-missing: #0b3f78; --host: #4a5058; --on-host: #fff;
    }
    @media screen and (prefers-color-scheme: dark) {
      :root {
        color-scheme: dark; --back: #14171a; --text: #e6e9ec; --dim: #a2abb4; --line: #343a41; --soft: #1e2327; --link: #8cbcff;
        --ok: #4ec46c; --bad: #ff7b77; --on-mark: #14171a; --bad-soft: #35191b;
        --denied: #dba632; --on-denied: #1d1400; --ended: #b393f5; --on-ended: #1b0d3a;
        --returned: #1b4527; --on-returned: #b9efc6; --limited: #3b2a66; --on-limited: #ddd0ff;
        --refused: #55400c; --on-refused: #ffe29a; --broken: #5c1f2d; --on-broken: #ffcad3;
        --missing: #173d66; --on-missing: #c5e0ff; --host: #c3c9d0; --on-host: #14171a;
      }
    }

    """

  private static let screen = """
    * { box-sizing: border-box; }
    body {
      margin: 0 auto; max-width: 82rem; padding: 1rem 1.25rem 3rem; background: var(--back); color: var(--text);
      font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere;
    }
    h1 { margin: .5rem 0; font-size: 1.6rem; }
    ul { list-style: none; margin: .25rem 0; padding: 0; }
    a { color: var(--link); }
    code { font: .875em/1.45 ui-monospace, monospace; unicode-bidi: isolate; white-space: pre-wrap; }
    .verdict { margin: .5rem 0 1rem; font-size: 1.15rem; font-weight: 600; }
    .counts, .legend, .failures ul { display: flex; flex-wrap: wrap; gap: .4rem 1rem; margin: 0 0 .9rem; }
    .counts li { font-weight: 600; }
    .legend { padding: .6rem .75rem; border: 1px solid var(--line); border-radius: .5rem; font-size: .875rem; }
    .legend li { display: flex; align-items: center; gap: .4rem; }
    .legend .cell { width: 2rem; }
    .failures summary { font-weight: 600; }
    .failures ul { margin: .3rem 0 .9rem; }
    .failures li { overflow: clip; }
    label { margin-left: .3rem; }

    .line {
      display: grid; grid-template-columns: minmax(0, 1fr) 9.5rem repeat(var(--walls), 5rem) 5.5rem 6rem;
      gap: .35rem; align-items: start; padding: .35rem .25rem;
    }
    .head {
      position: sticky; top: 0; z-index: 1; background: var(--back); border-bottom: 2px solid var(--text);
      margin-top: 1rem; font-weight: 600;
    }
    .head .line { align-items: end; }
    .head .outcome, .wall { text-align: center; }
    .wall { font-size: .875rem; }
    small { display: block; color: var(--dim); font-size: .75rem; font-weight: 400; }
    .row { border-bottom: 1px solid var(--line); scroll-margin-top: 4rem; }
    .row.bad { background: var(--bad-soft); box-shadow: inset .25rem 0 var(--bad); }
    #only:checked ~ .matrix .row.ok { display: none; }
    summary { cursor: pointer; }
    .row summary { list-style: none; }
    .row summary::-webkit-details-marker { display: none; }
    .row summary:hover { background: var(--soft); }
    summary:focus-visible { outline: 2px solid var(--link); outline-offset: -2px; }
    /* What is piled upon the letters of a name is cut off here, and covers no other row. */
    .row .name, .more { overflow: clip; }
    .row .name { position: relative; min-height: 1.6rem; padding: .05rem 0 .05rem 3rem; }
    .row .name::before {
      content: ""; position: absolute; left: .5rem; top: .5rem; border: .3rem solid transparent;
      border-left-color: var(--dim);
    }
    .row[open] .name::before { left: .35rem; top: .65rem; transform: rotate(90deg) translate(-.1rem, 0); }
    .mark {
      display: inline-block; width: 1.5rem; height: 1.5rem; border-radius: .3rem; line-height: 1.5rem; text-align: center;
      color: var(--on-mark); background: var(--ok);
    }
    .mark.bad { background: var(--bad); border-radius: 1rem; }
    .row .mark { position: absolute; left: 1.15rem; top: .05rem; }
    .through {
      padding: .1rem .4rem; margin-right: .4rem; border-radius: .3rem; background: var(--bad); color: var(--on-mark);
    }
    .cell, .row .outcome, .counts .outcome {
      min-height: 1.6rem; padding: .1rem .35rem; border: 1px solid transparent; border-radius: .3rem; text-align: center;
      font-size: .875rem; line-height: 1.3rem;
    }
    .cell { font-weight: 600; font-variant-numeric: tabular-nums; }
    .none { color: var(--dim); background: var(--soft); }
    .absent { color: var(--dim); border: 1px dashed var(--dim); }
    .denied { color: var(--on-denied); background: var(--denied); }
    .ended { color: var(--on-ended); background: var(--ended); }
    .counts .outcome { display: inline-block; }
    .returned { color: var(--on-returned); background: var(--returned); }
    .limited { color: var(--on-limited); background: var(--limited); }
    .refused { color: var(--on-refused); background: var(--refused); }
    .broken { color: var(--on-broken); background: var(--broken); }
    .missing { color: var(--on-missing); background: var(--missing); }
    .host { color: var(--on-host); background: var(--host); }
    .figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .row .figure { color: var(--dim); font-size: .875rem; line-height: 1.6rem; }
    .more { padding: 0 .75rem .75rem 3.25rem; font-size: .9375rem; }
    .more p { margin: .35rem 0; }
    .more li { padding-left: 1.3rem; }
    .more li b { display: inline-block; width: 1rem; margin-left: -1.3rem; }
    .more .ok b { color: var(--ok); }
    .more li.bad { font-weight: 600; }
    .more .bad b { color: var(--bad); }
    .place { color: var(--dim); font-size: .875rem; }
    @media (max-width: 64rem) {
      .line { grid-template-columns: minmax(0, 1fr) 9.5rem repeat(var(--walls), 4.5rem); }
      .figure { display: none; }
    }
    @media screen and (max-width: 48rem) {
      body { padding: .5rem .75rem 2rem; }
      .line { grid-template-columns: minmax(0, 1fr) repeat(var(--walls), minmax(0, 3.7rem)); gap: .3rem; }
      .line .name { grid-column: 1 / -1; }
      .head .name { display: none; }
      .wall, .head .outcome { font-size: .75rem; font-weight: 500; }
      .row .outcome { overflow-wrap: normal; padding: .1rem; font-size: .8125rem; }
      .row .cell { padding: .1rem 0; }
      .more { padding-left: .75rem; }
    }
    """

  private static let print = """
    @media print {
      @page { margin: 12mm; }
      html { font-size: 11px; }
      body { max-width: none; padding: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
      .failures, #only, label, .row .name::before { display: none; }
      /* The head is repeated on each sheet. */
      .matrix { display: table; width: 100%; table-layout: fixed; }
      .head { display: table-header-group; position: static; break-inside: avoid; }
      .head .line { border-bottom: 2px solid var(--text); }
      .rows { display: table-row-group; }
      /* A row is parted only where it is longer than a sheet, and then not within a line. */
      .row, .line, .more li, .more p { break-inside: avoid; }
      .line { break-after: avoid; }
      /* What isn't as expected is printed whole, also where it was closed. */
      .row.bad::details-content { content-visibility: visible; display: block; height: auto; }
    }
    """
}
