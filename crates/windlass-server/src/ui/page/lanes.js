// What each worker ran, as lanes in time. In each column of pixels a statement's height is its share
// of the time; a statement that ran at all has at least two pixels, so short ones are seen.

import { byId, colour, time } from "./parts.js";

const LANE = 34;
const GAP = 8;
const LEFT = 74;
const AXIS = 22;
const KEPT_US = 12e6;

export class Lanes {
  constructor() {
    this.canvas = byId("canvas");
    this.hint = byId("lane-hint");
    this.hintText = this.hint.textContent;
    this.lanes = [];
    this.workers = 0;
    this.nowUs = 0;
    this.spanS = 10;
    this.hasOthers = false;
    this.names = new Map();
    this.isDark = matchMedia("(prefers-color-scheme: dark)");
    this.isDark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => (this.hint.textContent = this.hintText));
  }

  /** Turns that ended after this are to be asked for. */
  get since() {
    return this.nowUs;
  }

  show(spanS) {
    this.spanS = spanS;
    this.draw();
  }

  take({ workers, now_us, turns }, statements) {
    if (now_us < this.nowUs) this.lanes = []; // The server has started anew.
    this.workers = workers;
    this.nowUs = now_us;
    for (const { number, text, user } of statements) this.names.set(number, text ?? `statement of ${user}`);
    while (this.lanes.length <= workers) this.lanes.push([]);
    for (const [lane, statement, from, length] of turns) {
      const of = this.lanes[lane];
      const turn = { statement, from, to: from + length };
      // One that went on comes again, with the same beginning.
      let at = of.length;
      while (at > 0 && of[at - 1].from > from) at -= 1;
      if (at > 0 && of[at - 1].from === from && of[at - 1].statement === statement) of[at - 1] = turn;
      else of.splice(at, 0, turn);
    }
    const seen = new Set(statements.map(({ number }) => number));
    for (const [index, lane] of this.lanes.entries()) {
      this.lanes[index] = lane.filter(({ to }) => to > now_us - KEPT_US);
      for (const { statement } of this.lanes[index]) seen.add(statement);
    }
    for (const number of this.names.keys()) if (!seen.has(number)) this.names.delete(number);
    this.draw();
  }

  /** Lanes that are drawn: the one of other threads only once they have run something. */
  get drawn() {
    this.hasOthers ||= (this.lanes[this.workers] ?? []).length > 0;
    return this.lanes.slice(0, this.workers + (this.hasOthers ? 1 : 0));
  }

  draw() {
    const { canvas } = this;
    const width = canvas.parentElement.clientWidth;
    const lanes = this.drawn;
    const height = Math.max(1, lanes.length) * (LANE + GAP) + AXIS;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const soft = style.getPropertyValue("--soft");
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (const [index, lane] of lanes.entries()) {
      const top = index * (LANE + GAP);
      pen.fillStyle = soft;
      pen.textAlign = "left";
      pen.fillText(index < this.workers ? `worker ${index}` : "others", 0, top + LANE / 2);
      pen.fillStyle = style.getPropertyValue("--lane");
      pen.fillRect(LEFT, top, width - LEFT, LANE);
      this.drawLane(pen, lane, top, width, scale);
    }
    this.drawAxis(pen, soft, width, height);
  }

  drawLane(pen, lane, top, width, scale) {
    const columns = Math.floor((width - LEFT) * scale);
    const columnUs = (this.spanS * 1e6) / columns;
    const beginUs = this.nowUs - this.spanS * 1e6;
    let column = -1;
    let shares = new Map();
    const flush = () => {
      let bottom = top + LANE;
      // The longest is at the bottom.
      for (const [statement, us] of [...shares].sort((a, b) => b[1] - a[1])) {
        const high = Math.min(Math.max((us / columnUs) * LANE, 2), bottom - top);
        pen.fillStyle = colour(statement, this.isDark.matches);
        pen.fillRect(LEFT + column / scale, bottom - high, 1 / scale, high);
        bottom -= high;
      }
      shares = new Map();
    };
    for (const { statement, from, to } of lane) {
      const first = Math.max(0, Math.floor((from - beginUs) / columnUs));
      const last = Math.min(columns - 1, Math.floor((to - beginUs) / columnUs));
      for (let at = first; at <= last; at += 1) {
        if (at !== column) {
          flush();
          column = at;
        }
        const left = beginUs + at * columnUs;
        const us = Math.min(to, left + columnUs) - Math.max(from, left);
        if (us > 0 || from === to) shares.set(statement, (shares.get(statement) ?? 0) + Math.max(us, 1));
      }
    }
    flush();
  }

  drawAxis(pen, soft, width, height) {
    const parts = width < 800 ? 5 : 10;
    pen.fillStyle = soft;
    for (let part = 0; part <= parts; part += 1) {
      const at = LEFT + ((width - LEFT) * part) / parts;
      const before = (this.spanS * 1000 * (parts - part)) / parts;
      pen.textAlign = part === 0 ? "left" : part === parts ? "right" : "center";
      const label = this.spanS >= 1 ? `−${+(before / 1000).toFixed(1)} s` : `−${+before.toFixed(0)} ms`;
      pen.fillText(part === parts ? "now" : label, at, height - AXIS / 2);
    }
  }

  point(event) {
    const { left, top, width } = this.canvas.getBoundingClientRect();
    const lane = this.drawn[Math.floor((event.clientY - top) / (LANE + GAP))];
    const part = (event.clientX - left - LEFT) / (width - LEFT);
    const at = this.nowUs - this.spanS * 1e6 * (1 - part);
    const near = (this.spanS * 1e6) / (width - LEFT);
    const turn = part < 0 ? undefined : lane?.find(({ from, to }) => from <= at + near && to >= at - near);
    if (!turn) {
      this.hint.textContent = this.hintText;
      return;
    }
    const what = this.names.get(turn.statement) ?? "has ended";
    const length = time((turn.to - turn.from) / 1000);
    this.hint.textContent = `Statement ${turn.statement}, ${length} without a pause: ${what.slice(0, 160)}`;
  }
}
