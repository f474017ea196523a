/**
 * Drives the TypeScript client for the conformance suite: JSON commands on stdin, one per line;
 * JSON events on stdout, one per line. The suite plays the model and the handlers: a handler or
 * hook that is asked says so, and waits for the suite's answer.
 */
import { createInterface } from "node:readline";
import {
  Agent,
  type Hook,
  type HookInput,
  type Invocation,
  type PendingCall,
  RefusedError,
  type ResumeOutcome,
  type Tool,
  type Turn,
} from "../src/index.js";
import {
  type Command,
  callOf,
  HOOK_POINTS,
  type HookFields,
  optionsOf,
  outputOf,
  promptOutputOf,
  referenceOf,
  type ToolFields,
  targetOf,
  toolOf,
  verdictOf,
} from "./commands.js";
import { cancelledFields, errorFields, keyFields, outcomeFields, say } from "./events.js";
import { Mailboxes } from "./mailboxes.js";

/** One agent, as the suite commands it. */
class Driver {
  readonly #answers = new Mailboxes<Command>();
  readonly #turns = new Map<string, Turn>();
  #agent: Agent | undefined;
  #left: Promise<void> = Promise.resolve();

  /** Carries out commands until stdin ends. */
  async run(): Promise<void> {
    for await (const line of createInterface({ input: process.stdin })) {
      try {
        await this.#do(JSON.parse(line));
      } catch (error) {
        say("error", errorFields(error));
      }
    }
    await this.#left;
  }

  /** What sends does so before this returns; what waits for the sidecar waits beside it. */
  async #do(command: Command): Promise<void> {
    switch (command.do) {
      case "connect":
        return this.#connect(command);
      case "answer":
      case "torn_down":
        return this.#answers.box(command.do + keyOf(command)).put(command);
      case "verdict":
        return this.#answers.box(command.point + keyOf(command)).put(command);
    }
    const agent = this.#agent;
    if (agent === undefined) {
      throw new Error(`${command.do} comes before connect`);
    }
    switch (command.do) {
      case "dispatch":
        return this.#dispatch(agent, command);
      case "cancel":
        return answer("cancel_result", agent.cancel(targetOf(command)), (calls) => ({
          calls: calls.map(cancelledFields),
        }));
      case "drop":
        return agent.dropConnection();
      case "update_tools":
        return answer(
          "updated",
          agent.updateTools({
            upsert: (command.upsert ?? []).map((tool) => this.#tool(tool)),
            remove: command.remove ?? [],
          }),
        );
      case "register_cell":
        return answer("registered", agent.registerCell(command.cell_id, referenceOf(command)));
      case "end_turn":
        return answer("turn_ended", agent.endTurn(command.turn_id));
      case "outputs": {
        const items = this.#turn(agent, command.turn_id).responseItems();
        return answer("outputs", items, (response_items) => ({ response_items }));
      }
      case "attach":
        return this.#attach(agent, command);
      case "detach":
        this.#left = command.close ? agent.close() : agent.detach();
        return answer("detached", this.#left);
      default:
        throw new Error(`unknown command ${command.do}`);
    }
  }

  async #connect(command: Command): Promise<void> {
    const connections: ResumeOutcome[] = [];
    const agent = await Agent.connect({
      endpoint: command.endpoint,
      tools: (command.tools ?? []).map((tool) => this.#tool(tool)),
      hooks: (command.hooks ?? []).map((hook) => this.#hook(hook)),
      session: optionsOf(command.options ?? {}),
      clientName: "conformance",
      onConnection: (resume) => {
        if (connections.push(resume) > 1) {
          say("reconnected", { resume });
        }
      },
      onError: (error) => {
        if (error instanceof RefusedError) {
          say("error", errorFields(error));
        } else {
          console.error(error);
        }
      },
    });
    this.#agent = agent;
    say("connected", {
      session_id: agent.sessionId,
      resume: connections[0],
      effective_tool_mode: agent.effectiveToolMode,
    });
  }

  #turn(agent: Agent, turnId: string): Turn {
    const turn = this.#turns.get(turnId) ?? agent.turn(turnId);
    this.#turns.set(turnId, turn);
    return turn;
  }

  #dispatch(agent: Agent, command: Command): void {
    const pending = this.#turn(agent, command.call.turn_id).dispatch(callOf(command.call), {
      views: command.views,
      timeoutMs: command.timeout_ms,
    });
    void completion(pending);
  }

  #attach(agent: Agent, command: Command): void {
    const request = {
      samplingRequestId: command.sampling_request_id,
      turnId: command.turn_id,
      outputs: command.outputs.map(promptOutputOf),
    };
    answer("attached", agent.attach(request), (attachments) => ({
      attached: attachments.length > 0,
      outputs: attachments.map(({ outputIndex, executedToolCallsJson, metadataBytes }) => ({
        index: outputIndex,
        json: executedToolCallsJson,
        metadata_bytes: metadataBytes,
      })),
    }));
  }

  // --- handlers and hooks ---

  #tool(fields: ToolFields): Tool {
    const waitsForTeardown = fields.cancel_mode === "wait_for_teardown";
    return {
      ...toolOf(fields),
      handler: async ({ call, rewritten, signal }: Invocation) => {
        const key = keyFields(call);
        const { name, payload } = call;
        say("handler_started", { ...key, name, payload, rewritten });
        try {
          const { result } = await this.#answers.box(`answer${keyOf(key)}`).take(signal);
          return outputOf(result);
        } finally {
          if (signal.aborted) {
            say("handler_cancelled", key);
            if (waitsForTeardown) {
              await this.#answers.box(`torn_down${keyOf(key)}`).take();
            }
          }
        }
      },
    };
  }

  #hook({ point, matchers, timeout_ms }: HookFields): Hook {
    return {
      point: HOOK_POINTS[point],
      matchers,
      timeoutMs: timeout_ms,
      run: async ({ call, payload, signal }: HookInput) => {
        const key = keyFields(call);
        say("hook_started", {
          ...key,
          point,
          tool_name: payload.toolName,
          tool_input_json: payload.toolInputJson,
          tool_response_json: payload.toolResponseJson,
        });
        return verdictOf(await this.#answers.box(point + keyOf(key)).take(signal));
      },
    };
  }
}

function keyOf(key: { turn_id: string; call_id: string }): string {
  return JSON.stringify([key.turn_id, key.call_id]);
}

/** Says what comes of a command, as soon as the sidecar does. */
function answer<T>(event: string, came: Promise<T>, fieldsOf: (it: T) => object = () => ({})) {
  came.then(
    (it) => say(event, fieldsOf(it)),
    (error) => say("error", errorFields(error)),
  );
}

async function completion(pending: PendingCall): Promise<void> {
  try {
    say("completed", outcomeFields(await pending));
  } catch (error) {
    say("refused", { ...keyFields(pending.call), ...errorFields(error) });
  }
}

await new Driver().run();
process.exit(); // handlers that nobody will answer are dropped
