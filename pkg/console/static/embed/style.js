// The style of the embedded chat. The surrounding page can set the --sluice- properties. All default colour pairs have
// a contrast of at least 4.5 to 1. Whatever accent the page sets, text on it is black or white, by the accent's
// luminance y: at .179, both have the same contrast. As a text colour, the accent is darkened or lightened as needed.

export const style = `
:host {
  color-scheme: light dark;
  --ink: var(--sluice-ink, light-dark(#17212b, #e7ecf1));
  --paper: var(--sluice-paper, light-dark(#fff, #171d24));
  --ground: var(--sluice-ground, light-dark(#f4f6f8, #0f1419));
  --faint: var(--sluice-faint, light-dark(#55616d, #a3b0bd));
  --line: var(--sluice-line, light-dark(#d3dae1, #313b46));
  --edge: light-dark(#7d8996, #73808d);
  --accent: var(--sluice-accent, light-dark(#0b5c7a, #6cc3e6));
  --white: clamp(0, (.179 - y) * 9999, 1);
  --on-accent: var(--sluice-on-accent, color(from var(--accent) xyz-d65 calc(.9505 * var(--white)) var(--white) calc(1.089 * var(--white))));
  --link: light-dark(oklch(from var(--accent) min(l, .5) c h), oklch(from var(--accent) max(l, .72) c h));
  --bad: light-dark(#9c1c1c, #ff9d94);
  --radius: var(--sluice-radius, .6rem);
  display: block; height: var(--sluice-height, 32rem); color: var(--ink);
  font: var(--sluice-font, 1rem/1.5 system-ui, sans-serif); text-align: start;
}
:host([theme=light]) { color-scheme: light; }
:host([theme=dark]) { color-scheme: dark; }
:host([hidden]), [hidden] { display: none !important; }
:host([floating]) { position: fixed; inset: auto 1rem 1rem auto; z-index: var(--sluice-z, 2147483000); height: auto; }
:host([floating][side=left]) { inset: auto auto 1rem 1rem; }
*, ::before, ::after { box-sizing: border-box; }
.panel { display: flex; flex-direction: column; height: 100%; overflow: hidden; background: var(--paper); border: 1px solid var(--line); border-radius: var(--radius); overflow-wrap: anywhere; }
:host([floating]) .panel { position: absolute; inset: auto 0 4.25rem auto; width: min(var(--sluice-width, 24rem), 100vw - 2rem); height: min(var(--sluice-height, 36rem), 100dvh - 6.5rem); box-shadow: 0 .5rem 2rem rgb(0 0 0 / .25); }
:host([floating][side=left]) .panel { inset: auto auto 4.25rem 0; }
@media (max-width: 30rem) {
  :host([floating]) .panel, :host([floating][side=left]) .panel { position: fixed; inset: 0; width: auto; height: auto; border: 0; border-radius: 0; }
}
header { display: flex; align-items: center; gap: .25rem; padding: .5rem .5rem .5rem 1rem; border-bottom: 1px solid var(--line); }
h2 { flex: 1; margin: 0; font-size: 1.05rem; }
.log { flex: 1; overflow: auto; padding: .75rem; display: flex; flex-direction: column; gap: .75rem; background: var(--ground); }
.turn { align-self: flex-start; max-width: 100%; padding: .5rem .75rem; border: 1px solid var(--line); border-radius: var(--radius); background: var(--paper); }
.user { align-self: flex-end; max-width: 85%; white-space: pre-wrap; background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.turn > :first-child, .md > :first-child { margin-top: 0; }
.turn > :last-child, .md > :last-child { margin-bottom: 0; }
p, ul, ol, pre, blockquote { margin: .5rem 0; }
h3 { font-size: 1rem; margin: .75rem 0 .25rem; }
ul, ol { padding-inline-start: 1.4rem; }
a { color: var(--link); }
small, .faint { color: var(--faint); font-size: .875em; }
pre, code { font-family: ui-monospace, monospace; font-size: .875em; }
pre { overflow: auto; padding: .5rem; background: var(--ground); border: 1px solid var(--line); border-radius: calc(var(--radius) / 2); }
blockquote { padding-inline-start: .75rem; border-inline-start: 3px solid var(--line); white-space: pre-wrap; }
.md blockquote { white-space: normal; }
mark { background: light-dark(#ffe9a8, #5c4a12); color: inherit; }
mark.unsupported { background: none; text-decoration: underline wavy var(--bad) 1px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .2rem .5rem; border: 1px solid var(--line); text-align: start; }
.sources { list-style: none; padding: .5rem 0 0; border-top: 1px solid var(--line); font-size: .9em; }
summary { cursor: pointer; }
.problem { margin: 0; color: var(--bad); }
form { display: flex; align-items: flex-end; gap: .5rem; padding: .75rem; border-top: 1px solid var(--line); }
textarea, button { font: inherit; color: inherit; }
textarea { flex: 1; min-width: 0; resize: none; padding: .4rem .6rem; border: 1px solid var(--edge); border-radius: calc(var(--radius) * 2 / 3); background: var(--paper); }
::placeholder { color: var(--faint); opacity: 1; }
button { padding: .4rem .85rem; border: 1px solid var(--edge); border-radius: calc(var(--radius) * 2 / 3); background: var(--paper); cursor: pointer; }
.main, .launcher { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
.quiet { border-color: transparent; background: none; padding: .1rem .5rem; font-size: 1.25rem; line-height: 1.4; }
.launcher { width: 3.25rem; height: 3.25rem; padding: 0; border-radius: 50%; font-size: 1.5rem; box-shadow: 0 .25rem 1rem rgb(0 0 0 / .25); }
.cite { padding: 0 .35rem; margin: 0 .1rem; border-color: var(--line); font-size: .8em; line-height: 1.5; color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.user:focus-visible { outline-color: var(--ink); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;
