// Boxes too narrow for a name, drawn as one path for each colour: a hundred thousand cost what a few hundred do.

const SEPARATE = 1.2; // pixels: thinner neighbours of one colour run together
const LEAST = 0.3;

// The outline of boxes {box, x, width} in rows: names -> the data of a path. `rowsOf[depth]` is in order of x.
export function outlines(rowsOf, namesOf, { margin, top, row, gap }) {
  const found = new Map();
  for (const [depth, boxes] of rowsOf.entries()) {
    if (!boxes?.length) continue;
    const y = top + depth * row;
    for (const { names, x, width } of runs(boxes, namesOf, gap)) {
      const path = found.get(names) ?? found.set(names, []).get(names);
      const wide = width.toFixed(1);
      path.push(`M${(margin + x).toFixed(1)} ${y}h${wide}v${row - 1}h-${wide}z`);
    }
  }
  return new Map([...found].map(([names, parts]) => [names, parts.join("")]));
}

// Neighbours that cannot be told apart are one; what shares its pixel with a box before it is not seen.
function runs(boxes, namesOf, gap) {
  const found = [];
  let last = null;
  for (const { box, x, width } of boxes) {
    const isThin = width < SEPARATE;
    const end = x + width;
    if (last?.isThin && isThin && x - (last.x + last.width) < LEAST) {
      const names = namesOf(box);
      if (names === last.names) {
        last.width = end - last.x;
        continue;
      }
      if (Math.floor(end) === Math.floor(last.x + last.width)) continue;
      found.push((last = { names, x, width: Math.max(width, LEAST), isThin }));
      continue;
    }
    found.push((last = { names: namesOf(box), x, width: isThin ? Math.max(width, LEAST) : width - gap, isThin }));
  }
  return found;
}
