/** A whole agent: one tool, two calls, and the next model request. */
import {
  Agent,
  functionPayload,
  type Invocation,
  promptOutput,
  RespondToModelError,
  spawn,
} from "@sidecall/client";

/** A tool is an ordinary function. */
function divide(asked: Invocation): string {
  const { number, by } = asked.arguments<{ number: number; by: number }>();
  if (by === 0) {
    throw new RespondToModelError("cannot divide by zero"); // the model reads this
  }
  return String(number / by);
}

await using sidecar = await spawn();
await using agent = await Agent.connect({
  endpoint: sidecar.endpoint,
  tools: [{ name: "divide", handler: divide }],
});
const turn = agent.turn("turn_1");
const asked = [4, 0].map((by, index) => ({
  callId: `call_${index}`, // what the model asked for
  name: "divide",
  payload: functionPayload({ number: 10, by }),
}));
const calls = asked.map((call) => turn.dispatch(call).call);
const items = await turn.responseItems(); // JSON, for the next request, in call order
const outputs = calls.map(promptOutput);
const attachments = await agent.attach({ samplingRequestId: "request_2", outputs });
console.log(items.join("\n"));
for (const { outputIndex, executedToolCallsJson } of attachments) {
  console.log(outputIndex, executedToolCallsJson); // what was attempted, by output
}
