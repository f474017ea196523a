/** The unary requests: sessions, recorder, projections, calls. */
import { Client, type Metadata, type MethodDefinition } from "@grpc/grpc-js";
import { type CallReference, type ToolCall, wireCall, wireReference } from "./call.js";
import { type Channel, channelTo, type EndpointOptions } from "./endpoint.js";
import { type RecordDisposition, recordDispositions, type View } from "./enums.js";
import { errorOfStatus } from "./errors.js";
import {
  ProjectionServiceService as Projection,
  ProjectToolFailureRequest,
  ProjectToolOutputRequest,
} from "./gen/sidecall/v1/projection_service.js";
import { RecorderServiceService as Recorder } from "./gen/sidecall/v1/recorder_service.js";
import {
  type GetToolCallResponse,
  ListToolCallsRequest,
  RuntimeServiceService as Runtime,
} from "./gen/sidecall/v1/runtime_service.js";
import {
  ListSessionsRequest,
  SessionServiceService as Sessions,
} from "./gen/sidecall/v1/session_service.js";
import {
  type SessionOptions,
  type TurnOptions,
  wireSessionOptions,
  wireTurnOptions,
  wireViews,
} from "./options.js";
import { type Projections, readProjections } from "./outcome.js";
import { type ToolOutput, type TruncationPolicy, wireOutput, wirePolicy } from "./output.js";
import {
  type ProjectedFailure,
  readProjectedFailure,
  type ToolFailure,
  wireFailure,
} from "./projection.js";
import {
  type NormalizedPrompt,
  type OutlineEntry,
  readNormalizedPrompt,
  wireOutline,
} from "./prompt.js";
import {
  type Attachment,
  type AttachRequest,
  readAttachments,
  wireAttachRequest,
} from "./recorder.js";
import { type RuntimeInfo, readRuntimeInfo } from "./runtime-info.js";
import {
  type CallStatus,
  type CancelledCall,
  type CancelTarget,
  readCallStatus,
  readCancelled,
  readSession,
  type Session,
  wireTarget,
} from "./session.js";

/** Calls and sessions in one page. */
const PAGE_SIZE = 1000;

/** How a request may end early. */
export interface RequestOptions {
  /** Gives the request up. */
  signal?: AbortSignal | undefined;
  /** How long it may take, in milliseconds. Absent: no limit. */
  timeoutMs?: number | undefined;
}

/** One call, and its views where it has ended and they are kept. */
export interface KeptCall {
  status: CallStatus;
  projections: Projections;
}

/**
 * Talks to one sidecar. Every request throws a `RefusedError`: when the sidecar refuses
 * (`reason` says why, SESSION_NOT_FOUND say), or cannot be reached (UNAVAILABLE).
 */
export class SidecallClient {
  readonly #channel: Channel;
  readonly #client: Client;

  /** Names a sidecar; it is connected to as it is first used. */
  constructor(endpoint?: EndpointOptions | string) {
    this.#channel = channelTo(endpoint);
    const { target, credentials, options } = this.#channel;
    this.#client = new Client(target, credentials, options);
  }

  /** Gives up the connection. */
  close(): void {
    this.#client.close();
  }

  /** @internal What the stream is opened on. */
  get stream(): { client: Client; metadata: Metadata } {
    return { client: this.#client, metadata: this.#channel.metadata };
  }

  /** What the server is, and which limits hold. */
  async runtimeInfo(options?: RequestOptions): Promise<RuntimeInfo> {
    return readRuntimeInfo(await this.#ask(Runtime.getRuntimeInfo, {}, options));
  }

  // --- sessions ---

  /**
   * Opens a session for an agent that runs its tools itself; `Agent.connect` opens one by
   * itself. The token attaches an agent to the session: keep it secret.
   */
  async createSession(
    request: SessionOptions & { sessionId?: string | undefined } = {},
    options?: RequestOptions,
  ): Promise<{ session: Session; resumeToken: string }> {
    const created = await this.#ask(
      Sessions.createSession,
      { sessionId: request.sessionId ?? "", options: wireSessionOptions(request) },
      options,
    );
    return { session: readSession(created.session), resumeToken: created.resumeToken };
  }

  /** Shows a session. */
  async getSession(sessionId: string, options?: RequestOptions): Promise<Session> {
    const { session } = await this.#ask(Sessions.getSession, { sessionId }, options);
    return readSession(session);
  }

  /** All sessions, oldest first, page after page. */
  async *listSessions(options?: RequestOptions): AsyncGenerator<Session, void> {
    const request = ListSessionsRequest.create({ pageSize: PAGE_SIZE });
    do {
      const page = await this.#ask(Sessions.listSessions, request, options);
      yield* page.sessions.map(readSession);
      request.pageToken = page.nextPageToken;
    } while (request.pageToken !== "");
  }

  /** Ends a session; gives how many open calls were aborted. */
  async deleteSession(sessionId: string, options?: RequestOptions): Promise<number> {
    return (await this.#ask(Sessions.deleteSession, { sessionId }, options)).abortedCalls;
  }

  /** Ends a turn; gives how many of its calls are still open; they go on. */
  async endTurn(sessionId: string, turnId: string, options?: RequestOptions): Promise<number> {
    const request = { sessionId, turnId };
    return (await this.#ask(Sessions.endTurn, request, options)).openCalls;
  }

  // --- recorder ---

  /** Records that a call is attempted, for agents that run their tools themselves. */
  async recordToolCall(
    sessionId: string,
    call: ToolCall,
    turnOptions?: TurnOptions,
    options?: RequestOptions,
  ): Promise<RecordDisposition> {
    const request = {
      sessionId,
      call: wireCall(call),
      turnOptions: wireTurnOptions(turnOptions),
    };
    const recorded = await this.#ask(Recorder.recordToolCall, request, options);
    return recordDispositions.plain(recorded.disposition);
  }

  /** Says which call's output carries the records of a cell. False: there was no room. */
  async registerCell(
    sessionId: string,
    cellId: string,
    output: CallReference,
    options?: RequestOptions,
  ): Promise<boolean> {
    const request = { sessionId, cellId, outputCallId: output.callId, turnId: output.turnId };
    return (await this.#ask(Recorder.registerCell, request, options)).registered;
  }

  /**
   * Attaches records to the outputs of a prompt; only outputs that carry records come back, in
   * order. Call it for each try of each model request.
   */
  async attach(
    sessionId: string,
    request: AttachRequest,
    options?: RequestOptions,
  ): Promise<Attachment[]> {
    const wire = wireAttachRequest(sessionId, request);
    return readAttachments(await this.#ask(Recorder.attachExecutedToolCalls, wire, options));
  }

  // --- projections ---

  /**
   * Makes the views of one output, without a session. A post hook's feedback takes the place of
   * the output for the model. Without `views`: all of them.
   */
  async projectToolOutput(
    call: ToolCall,
    output: ToolOutput | string,
    more: { feedback?: string | undefined; views?: readonly View[] | undefined } = {},
    options?: RequestOptions,
  ): Promise<Projections> {
    const request = ProjectToolOutputRequest.create({
      call: wireCall(call),
      output: wireOutput(output),
      feedback: more.feedback === undefined ? undefined : Buffer.from(more.feedback),
      views: wireViews(more.views),
    });
    const projected = await this.#ask(Projection.projectToolOutput, request, options);
    return readProjections(projected.projections);
  }

  /** Makes what a failed call shows to its caller, without a session. */
  async projectToolFailure(
    call: ToolCall,
    failure: ToolFailure,
    options?: RequestOptions,
  ): Promise<ProjectedFailure> {
    const request = ProjectToolFailureRequest.create({
      call: wireCall(call),
      failure: wireFailure(failure),
    });
    return readProjectedFailure(await this.#ask(Projection.projectToolFailure, request, options));
  }

  /**
   * Cuts the middle out of a text, as outputs are cut for the model. `formatted`: with a warning
   * and the number of lines in front (SPEC E1, E4).
   */
  async truncateText(
    text: string,
    policy: TruncationPolicy,
    { formatted = false, ...options }: RequestOptions & { formatted?: boolean } = {},
  ): Promise<string> {
    const request = { text: Buffer.from(text), policy: wirePolicy(policy), formatted };
    return (await this.#ask(Projection.truncateText, request, options)).text.toString();
  }

  /** Tells which calls of a prompt lack an output, and which outputs lack a call. */
  async normalizePrompt(
    entries: readonly OutlineEntry[],
    options?: RequestOptions,
  ): Promise<NormalizedPrompt> {
    const request = wireOutline(entries);
    return readNormalizedPrompt(await this.#ask(Runtime.normalizePrompt, request, options));
  }

  // --- calls ---

  /** Shows one call. */
  async getToolCall(
    sessionId: string,
    call: CallReference,
    options?: RequestOptions,
  ): Promise<KeptCall> {
    const request = { sessionId, call: wireReference(call), views: undefined };
    return readKeptCall(await this.#ask(Runtime.getToolCall, request, options));
  }

  /** The calls of a session, or of one turn, in the order of their dispatch, page after page. */
  async *listToolCalls(
    sessionId: string,
    filter: { turnId?: string | undefined; includeProjections?: boolean | undefined } = {},
    options?: RequestOptions,
  ): AsyncGenerator<KeptCall, void> {
    const request = ListToolCallsRequest.create({
      sessionId,
      turnId: filter.turnId ?? "",
      includeProjections: filter.includeProjections ?? false,
      pageSize: PAGE_SIZE,
    });
    do {
      const page = await this.#ask(Runtime.listToolCalls, request, options);
      yield* page.calls.map(readKeptCall);
      request.pageToken = page.nextPageToken;
    } while (request.pageToken !== "");
  }

  /** Cancels calls, as an operator does. A call that has ended or never was is no error. */
  async cancelToolCall(
    sessionId: string,
    target: CancelTarget,
    options?: RequestOptions,
  ): Promise<CancelledCall[]> {
    const request = { sessionId, target: wireTarget(target) };
    const { calls } = await this.#ask(Runtime.cancelToolCall, request, options);
    return readCancelled(calls);
  }

  // --- details ---

  #ask<Request, Response>(
    method: MethodDefinition<Request, Response>,
    request: NoInfer<Request>,
    { signal, timeoutMs }: RequestOptions = {},
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        this.#channel.metadata,
        timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
        (error, response) => {
          signal?.removeEventListener("abort", cancel);
          if (response !== undefined) {
            resolve(response);
          } else {
            reject(signal?.aborted ? signal.reason : errorOfStatus(error));
          }
        },
      );
      const cancel = () => call.cancel();
      signal?.addEventListener("abort", cancel, { once: true });
    });
  }
}

function readKeptCall({ call, projections }: GetToolCallResponse): KeptCall {
  return { status: readCallStatus(call), projections: readProjections(projections) };
}
