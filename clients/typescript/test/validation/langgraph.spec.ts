// The validation suite of LangGraph.js, against a real service.

import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import type { CheckpointerTestInitializer } from "@langchain/langgraph-checkpoint-validation";
import { connect } from "../../src/index.js";
import type { Client } from "../../src/index.js";
import { MilepostSaver } from "../../src/langgraph.js";
import { start } from "../milepost.js";
import type { Milepost } from "../milepost.js";

let milepost: Milepost;
let client: Client;

const initializer: CheckpointerTestInitializer<MilepostSaver> = {
  checkpointerName: "@milepost/client",
  // As that of each test: a loaded machine starts the service late.
  beforeAllTimeout: 60_000,

  async beforeAll() {
    milepost = await start();
    client = connect({ baseUrl: milepost.baseUrl, token: milepost.token });
  },

  async afterAll() {
    await milepost.stop();
  },

  createCheckpointer() {
    return new MilepostSaver(client);
  },

  // Lists of all threads have those of one set of validations.
  async destroyCheckpointer(saver) {
    const threads = await client.http.GET("/v1/tasks", { params: { query: { prefix: "lg:" } } });
    for (const { id } of threads.data?.items ?? []) {
      await saver.deleteThread(id.slice("lg:".length));
    }
  },
};

validate(initializer);
// Not among those that `validate` runs: what a `DeltaChannel` is rebuilt from.
deltaChannelHistoryTests(initializer);
