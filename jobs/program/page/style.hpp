#pragma once

namespace holdfast {

/// The style sheet of the report: one light and one dark set of colours, shared by the page and its charts.
inline constexpr const char* report_style = R"css(
:root {
  color-scheme: light dark;
  --page: #fbfaf8; --card: #ffffff; --ink: #1d2126; --quiet: #626a73; --rule: #e3e1dc; --grid: #eeece7;
  --good: #1f7a55; --good-back: #e5f2ec; --fair: #8a5a00; --fair-back: #faf0da; --bad: #a8322b; --bad-back: #f9e6e4;
  --s0: #2563a8; --s1: #c2562c; --s2: #2a8572; --s3: #7a54a6; --s4: #a67a14; --s5: #b04a78; --s6: #4f7f2f; --s7: #1f87a6;
  --s8: #8a6a55; --s9: #858d96;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1b1f23; --ink: #e6e8ea; --quiet: #9aa3ac; --rule: #2e343a; --grid: #262b30;
    --good: #6cc9a1; --good-back: #17332a; --fair: #e0b45c; --fair-back: #38290f; --bad: #ee8d85; --bad-back: #3d1d1b;
    --s0: #6fa8e6; --s1: #e88a61; --s2: #5fc0aa; --s3: #b394dd; --s4: #d6ae4e; --s5: #e288b1; --s6: #92c56d; --s7: #63c1dc;
    --s8: #c9a98f; --s9: #8b949d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
}
main { max-width: 1080px; margin: 0 auto; padding: 36px 24px 72px; }
h1 { font-size: 30px; line-height: 1.2; font-weight: 650; letter-spacing: -0.015em; margin: 4px 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 19px; font-weight: 650; letter-spacing: -0.005em; margin: 52px 0 4px; }
h3 { font-size: 14px; font-weight: 600; margin: 0 0 6px; }
p { margin: 0 0 10px; max-width: 76ch; }
code { font: 0.92em/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
.over { color: var(--quiet); font-size: 13px; letter-spacing: 0.06em; text-transform: uppercase; font-weight: 600; }
.lead, .note { color: var(--quiet); }
.note { font-size: 13.5px; margin: 8px 0 14px; overflow-wrap: anywhere; }
.private { border-left: 3px solid var(--fair); padding: 2px 0 2px 12px; color: var(--quiet); font-size: 13.5px; margin: 18px 0 0; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 18px 20px; margin-top: 14px; }
.halves, .thirds { display: grid; gap: 14px; margin-top: 14px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
.thirds { grid-template-columns: repeat(auto-fill, minmax(min(100%, 300px), 1fr)); }
.halves > .card, .thirds > .card { margin-top: 0; min-width: 0; }
.summary { display: grid; grid-template-columns: max-content 1fr; margin: 18px 0 0; background: var(--card);
  border: 1px solid var(--rule); border-radius: 8px; padding: 6px 20px; }
.summary dt, .summary dd { margin: 0; padding: 11px 0; min-width: 0; }
.summary dt { color: var(--quiet); font-size: 13px; font-weight: 600; padding-right: 28px; line-height: 23px; }
.summary dd { overflow-wrap: anywhere; }
.summary dd + dt, .summary dd + dt + dd { border-top: 1px solid var(--rule); }
.summary dd > b { font-size: 20px; line-height: 23px; font-weight: 650; font-variant-numeric: tabular-nums; }
.summary dd > code { color: var(--ink); background: var(--grid); border-radius: 4px; padding: 2px 6px; box-decoration-break: clone; }
.summary dd > code.command { display: block; width: fit-content; max-width: 100%; padding: 4px 8px; }
.command span { display: inline-block; max-width: 100%; }
details > summary { cursor: pointer; color: var(--quiet); margin-top: 14px; }
.warning { color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); margin-top: 22px; background: var(--card);
  border: 1px solid var(--rule); border-radius: 8px; overflow: hidden; }
.tile { min-width: 0; padding: 12px 16px 13px; box-shadow: 1px 1px 0 var(--rule); }
.tile b { display: block; font-size: 22px; line-height: 1.25; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.tile span { color: var(--quiet); font-size: 13px; }
.badge { display: inline-block; border-radius: 11px; padding: 1px 10px; font-size: 13px; font-weight: 600; }
.badge.good { color: var(--good); background: var(--good-back); }
.badge.fair { color: var(--fair); background: var(--fair-back); }
.badge.bad { color: var(--bad); background: var(--bad-back); }
.card ul { margin: 2px 0 0; padding-left: 18px; }
.card li { margin: 1px 0; }
.terms { display: grid; grid-template-columns: max-content 1fr; gap: 6px 22px; margin: 14px 0 0; font-size: 14px; }
.card > .terms:first-child, .terms .terms, .terms .card { margin-top: 0; }
.terms dt { color: var(--quiet); }
.terms dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 14px 6px 0; text-align: left; border-bottom: 1px solid var(--rule); vertical-align: baseline; }
th { color: var(--quiet); font-weight: 600; font-size: 13px; }
tr:last-child td { border-bottom: 0; }
td.figure, th.figure { text-align: right; }
td.best { font-weight: 700; }
td.key { white-space: nowrap; }
.settings { columns: 2 400px; column-gap: 40px; }
.settings section { break-inside: avoid; margin-bottom: 18px; }
.settings td.key { width: 45%; }
.settings td:last-child { overflow-wrap: anywhere; }
footer { margin-top: 56px; padding-top: 14px; border-top: 1px solid var(--rule); color: var(--quiet); font-size: 13px; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--quiet); font-variant-numeric: tabular-nums; }
.grid { stroke: var(--grid); } .axis { stroke: var(--rule); }
.line { fill: none; stroke-width: 1.9; stroke-linejoin: round; stroke-linecap: round; }
.dashed { stroke-dasharray: 5 4; }
.leader { stroke-width: 0.8; opacity: 0.55; }
.dot { stroke: var(--card); stroke-width: 1.2; }
.band { stroke: none; opacity: 0.16; }
.line.s0, .leader.s0 { stroke: var(--s0); } .label.s0, .dot.s0, .band.s0, .bar.s0 { fill: var(--s0); }
.line.s1, .leader.s1 { stroke: var(--s1); } .label.s1, .dot.s1, .band.s1, .bar.s1 { fill: var(--s1); }
.line.s2, .leader.s2 { stroke: var(--s2); } .label.s2, .dot.s2, .band.s2, .bar.s2 { fill: var(--s2); }
.line.s3, .leader.s3 { stroke: var(--s3); } .label.s3, .dot.s3, .band.s3, .bar.s3 { fill: var(--s3); }
.line.s4, .leader.s4 { stroke: var(--s4); } .label.s4, .dot.s4, .band.s4, .bar.s4 { fill: var(--s4); }
.line.s5, .leader.s5 { stroke: var(--s5); } .label.s5, .dot.s5, .band.s5, .bar.s5 { fill: var(--s5); }
.line.s6, .leader.s6 { stroke: var(--s6); } .label.s6, .dot.s6, .band.s6, .bar.s6 { fill: var(--s6); }
.line.s7, .leader.s7 { stroke: var(--s7); } .label.s7, .dot.s7, .band.s7, .bar.s7 { fill: var(--s7); }
.line.s8, .leader.s8 { stroke: var(--s8); } .label.s8, .dot.s8, .band.s8, .bar.s8 { fill: var(--s8); }
.line.s9, .leader.s9 { stroke: var(--s9); } .label.s9, .dot.s9, .band.s9, .bar.s9 { fill: var(--s9); }
@media (max-width: 720px) {
  body { font-size: 14px; line-height: 1.45; }
  main { padding: 18px 16px 48px; }
  h1 { font-size: 23px; margin: 2px 0; }
  .tiles { grid-template-columns: repeat(2, 1fr); }
  .summary { grid-template-columns: minmax(0, 1fr); padding: 4px 14px; margin-top: 10px; }
  .summary dt { padding: 8px 0 0; line-height: 1.4; }
  .summary dd { padding: 0 0 8px; }
  .summary dd + dt + dd { border-top: 0; }
  .card { padding: 14px; }
  .terms { grid-template-columns: minmax(0, 1fr); gap: 2px; }
  .terms dd { margin-bottom: 6px; }
  .terms .terms { padding-left: 12px; }
}
@media print { .card { break-inside: avoid; } main { padding: 0; max-width: none; } }
)css";

}  // namespace holdfast
