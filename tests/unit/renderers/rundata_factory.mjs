// Runs as rundata.js reads them, for tests of the scripts that draw them.

const KINDS = ["yours", "library", "stdlib", "runtime"];

// A run in which each row is [role pid thread, phase, "a > b > c", wall, idle] (µs). A frame is
// `function file:line`; slices are the phases in the order in which they are named.
export function aRun(rows, { findings = {}, importing = [] } = {}) {
  const strings = [];
  const number = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
  const nodes = { parent: [], label: [], file: [], short: [], line: [], kind: [], importing: [] };
  const known = new Map();
  const phases = [...new Set(rows.map(([, phase]) => phase))];
  const threads = { process: [], label: [], main: [] };
  const processes = { pid: [], role: [] };
  const cells = [];
  for (const [place, phase, stack, wall, idle = 0] of rows) {
    const [role, pid, ...name] = place.split(" ");
    let process = processes.pid.indexOf(Number(pid));
    if (process < 0) process = processes.pid.push(Number(pid)) - 1;
    processes.role[process] = number(role);
    const label = number(name.join(" ") || "MainThread");
    let thread = threads.process.findIndex((it, at) => it === process && threads.label[at] === label);
    if (thread < 0) {
      thread = threads.process.push(process) - 1;
      threads.label.push(label);
      threads.main.push(strings[label] === "MainThread" ? 1 : 0);
    }
    let parent = -1;
    for (const frame of stack.split(" > ")) {
      const key = `${parent} ${frame}`;
      if (!known.has(key)) {
        known.set(key, nodes.parent.length);
        const [, name, file, line] = /^(\S+) (.*):(\d+)$/.exec(frame);
        nodes.parent.push(parent);
        nodes.label.push(number(name));
        nodes.file.push(number(file));
        nodes.short.push(number(file.split("/").at(-1)));
        nodes.line.push(Number(line));
        nodes.kind.push(0);
        nodes.importing.push(importing.includes(name) || (parent >= 0 && nodes.importing[parent]) ? 1 : 0);
      }
      parent = known.get(key);
    }
    cells.push({ slice: phases.indexOf(phase), thread, node: parent, wall, idle, cpu: wall - idle });
  }
  cells.sort((one, other) => one.slice - other.slice || one.thread - other.thread || one.node - other.node);
  const withLabel = (labels) => nodes.label.flatMap((label, node) => (labels.includes(strings[label]) ? [node] : []));
  return {
    strings, kinds: KINDS, nodes, threads, processes,
    slices: { start: phases.map((_, at) => at * 100), end: phases.map((_, at) => at * 100 + 100), phase: phases.map((name) => number(name)) },
    cells: Object.fromEntries(["slice", "thread", "node", "wall", "idle", "cpu"].map((name) => [name, cells.map((cell) => cell[name])])),
    findings: Object.entries(findings).map(([rank, labels]) => ({ rank: Number(rank), title: `finding ${rank}`, nodes: withLabel(labels) })),
  };
}

// A run of any size: every node has a caller within `reach` before it, so stacks are deep where it is small.
export function aBigRun({ nodes: count, cells: cellCount, slices = 120, processes: processCount = 8, functions = 5_000, reach = 2_000, seed = 1 }) {
  let state = seed;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const upTo = (limit) => Math.floor(random() * limit);
  const strings = ["main", "worker", "MainThread", "Thread-1", "Thread-2", "start-up", "steady"];
  const first = strings.length;
  for (let at = 0; at < functions; at++) strings.push(`function_${at}`);
  const files = strings.length;
  for (let at = 0; at < functions / 10; at++) strings.push(`/home/x/package_${at % 50}/module_${at}.py`);
  const nodes = { parent: new Int32Array(count), label: [], file: [], short: [], line: [], kind: [], importing: new Uint8Array(count) };
  for (let node = 0; node < count; node++) {
    nodes.parent[node] = node < 5 ? -1 : Math.max(0, node - 1 - upTo(Math.min(node, reach)));
    const name = upTo(functions);
    nodes.label.push(first + name);
    nodes.file.push(files + Math.floor(name / 10));
    nodes.short.push(files + Math.floor(name / 10));
    nodes.line.push((name * 37) % 1000);
    nodes.kind.push(name % 4);
  }
  const threadCount = processCount * 3;
  const perSlice = Math.ceil(cellCount / slices);
  const cells = { slice: [], thread: [], node: [], wall: [], idle: [], cpu: [] };
  for (let slice = 0; slice < slices; slice++) {
    const rows = Array.from({ length: Math.min(perSlice, cellCount - slice * perSlice) }, () => [upTo(threadCount), upTo(count)]);
    rows.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    for (const [thread, node] of rows) {
      const wall = 1 + upTo(20_000);
      const idle = upTo(wall);
      cells.slice.push(slice);
      cells.thread.push(thread);
      cells.node.push(node);
      cells.wall.push(wall);
      cells.idle.push(idle);
      cells.cpu.push(wall - idle);
    }
  }
  return {
    strings, kinds: KINDS, nodes, cells,
    threads: {
      process: Array.from({ length: threadCount }, (_, at) => Math.floor(at / 3)),
      label: Array.from({ length: threadCount }, (_, at) => 2 + (at % 3)),
      main: Array.from({ length: threadCount }, (_, at) => (at % 3 === 0 ? 1 : 0)),
    },
    processes: {
      pid: Array.from({ length: processCount }, (_, at) => 1000 + at),
      role: Array.from({ length: processCount }, (_, at) => (at === 0 ? 0 : 1)),
    },
    slices: {
      start: Array.from({ length: slices }, (_, at) => at * 1000),
      end: Array.from({ length: slices }, (_, at) => at * 1000 + 1000),
      phase: Array.from({ length: slices }, (_, at) => (at < slices / 10 ? 5 : 6)),
    },
    findings: [{ rank: 1, title: "first", nodes: [100, 101, 102] }, { rank: 2, title: "second", nodes: [101, 200] }],
  };
}
