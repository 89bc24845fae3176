import type { Route } from "../address.ts";
import { Frame } from "../parts/Frame.tsx";
export function Compare(_: { route: Extract<Route, { screen: "compare" }> }) {
  return <Frame head={<h1>Compare</h1>} keys={[]}><main /></Frame>;
}
