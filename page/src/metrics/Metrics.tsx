import type { Route } from "../address.ts";
import { Frame } from "../parts/Frame.tsx";
export function Metrics(_: { route: Extract<Route, { screen: "metrics" }> }) {
  return <Frame head={<h1>Metrics</h1>} keys={[]}><main /></Frame>;
}
