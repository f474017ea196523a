// The cycle through the TypeScript client, as built by `npm run build`; tests/bench/clients/
// __init__.py says how it is told what to do.
import { createInterface } from "node:readline";
import { Agent, functionPayload } from "../../../../clients/typescript/dist/src/index.js";

const say = (message) => console.log(JSON.stringify(message));

/** Runs the calls of one line; what came out of it. */
async function cycle(line) {
  let calls = 0;
  let seconds = 0;
  let began;

  /** Counts a call; whether the time is up. */
  function over() {
    if (seconds >= line.seconds) {
      return true;
    }
    calls += 1;
    if (began !== undefined) {
      seconds = (performance.now() - began) / 1000;
    } else if (calls === line.warm_up_calls) {
      calls = 0;
      began = performance.now();
      say("running");
    }
    return seconds >= line.seconds;
  }

  async function loop(agent, number) {
    for (let turn = 0; ; turn += 1) {
      const turnId = `turn_${number}_${turn}`;
      for (let call = 0; call < line.turn_calls; call += 1) {
        const payload = functionPayload(line.arguments);
        const pending = agent.dispatch({ turnId, callId: `call_${call}`, name: "work", payload });
        const outcome = await pending.outcome;
        if (outcome.lifecycle !== "completed") {
          throw new Error(`the call ended otherwise: ${outcome.lifecycle}`);
        }
        if (over()) {
          return;
        }
      }
      await agent.endTurn(turnId);
    }
  }

  const tool = { name: "work", supportsParallelCalls: true, handler: () => line.output };
  const agent = await Agent.connect({ endpoint: line.endpoint, tools: [tool] });
  await Promise.all(Array.from({ length: line.in_flight }, (_, number) => loop(agent, number)));
  await agent.close();
  return { seconds, calls };
}

for await (const text of createInterface({ input: process.stdin })) {
  say(await cycle(JSON.parse(text)));
}
