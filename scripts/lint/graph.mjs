// Cycles of a directed graph, given as a map from a node to the set of nodes that it needs.

/** The groups of nodes that reach each other (Tarjan's strongly connected components), those of two or more. */
function tangles(graph) {
  const order = new Map();
  const low = new Map();
  const open = [];
  const found = [];
  const visit = (node) => {
    order.set(node, order.size);
    low.set(node, order.get(node));
    open.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next);
      if (open.includes(next)) low.set(node, Math.min(low.get(node), low.get(next)));
    }
    if (low.get(node) !== order.get(node)) return;
    const group = open.splice(open.indexOf(node));
    if (group.length > 1) found.push(group.sort());
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found;
}

/** The shortest way from `start` back to itself inside `group`, `start` at both ends. */
function shortestCycle(graph, start, group) {
  const from = new Map();
  const queue = [start];
  for (const node of queue) {
    for (const next of graph.get(node) ?? []) {
      if (next === start) {
        const way = [start];
        for (let step = node; step !== undefined; step = from.get(step)) way.unshift(step);
        return way;
      }
      if (!group.includes(next) || from.has(next)) continue;
      from.set(next, node);
      queue.push(next);
    }
  }
  return [];
}

/** For each node on a cycle the shortest one, each once, as the way around: `["a", "b", "a"]`. */
export function cyclesOf(graph) {
  const ways = tangles(graph).flatMap((group) => group.map((start) => shortestCycle(graph, start, group)));
  const once = new Map(ways.map((way) => [[...new Set(way)].sort().join(" "), way]));
  return [...once.values()];
}

/** The graph between what `groupOf` makes of the nodes; needs inside one group do not count. */
export function grouped(graph, groupOf) {
  const groups = new Map();
  for (const [node, needs] of graph) {
    const group = groupOf(node);
    if (!groups.has(group)) groups.set(group, new Set());
    for (const need of needs) if (groupOf(need) !== group) groups.get(group).add(groupOf(need));
  }
  return groups;
}
