%% Runs the group coordinator of brod: escript assignors.escript LIBS, where LIBS has the sources of brod and kafka_protocol.
%%
%% Reads one group per line, as a term {LeaderId, [{MemberId, Topics}], [{Topic, Partitions}]} of binaries and numbers,
%% and writes one line of JSON per group: the partitions of each member, names in hexadecimal; or UnknownTopic.
-mode(compile).

main([Libs]) ->
    ok = load("brod_client", client()),
    {ok, Source} = file:read_file(filename:join([Libs, "brod", "src", "brod_group_coordinator.erl"])),
    ok = load("brod_group_coordinator", [Source, leader()], [{i, Libs}, {i, filename:join([Libs, "brod", "include"])}]),
    answer_lines().

answer_lines() ->
    case io:get_line(standard_io, "") of
        eof -> ok;
        Line ->
            {ok, Tokens, _} = erl_scan:string(Line),
            {ok, {LeaderId, Members, Topics}} = erl_parse:parse_term(Tokens),
            io:put_chars([answer(brod_group_coordinator:assign_as_leader(LeaderId, Members, Topics)), $\n]),
            answer_lines()
    end.

answer(unknown_topic) -> "\"UnknownTopic\"";
answer(Given) -> list([list([hex(Member), list([list([hex(T), integer_to_list(N)]) || {T, Ns} <- Has, N <- Ns])])
                       || {Member, Has} <- Given]).

list(Items) -> [$[, lists:join($,, Items), $]].

hex(Binary) -> [$", [io_lib:format("~2.16.0b", [Byte]) || <<Byte>> <= Binary], $"].

%% What a leader asks of the cluster.
client() ->
    "-module(brod_client).\n"
    "-export([get_partitions_count/2]).\n"
    "get_partitions_count(Topics, Topic) ->\n"
    "    case lists:keyfind(Topic, 1, Topics) of\n"
    "        {_, Count} when Count > 0 -> {ok, Count};\n"
    "        _ -> {error, unknown_topic_or_partition}\n"
    "    end.\n".

%% What a leader does after it has joined, added to brod's module: join_group/1 arranges the members since 3.7.1.
leader() ->
    "\nassign_as_leader(LeaderId, Given, Topics) ->\n"
    "    Listed = [{Id, #kafka_group_member_metadata{version = 0, topics = Names, user_data = <<>>}} || {Id, Names} <- Given],\n"
    "    Members = case erlang:function_exported(?MODULE, ensure_leader_at_hd, 2) of\n"
    "        true -> ?MODULE:ensure_leader_at_hd(LeaderId, Listed);\n"
    "        false -> Listed\n"
    "    end,\n"
    "    State = #state{client = Topics, members = Members, memberId = LeaderId, leaderId = LeaderId,\n"
    "                   partition_assignment_strategy = ?PARTITION_ASSIGMENT_STRATEGY_ROUNDROBIN},\n"
    "    try [{get(member_id, Each), assigned(Each)} || Each <- assign_partitions(State)]\n"
    "    catch throw:_ -> unknown_topic\n"
    "    end.\n"
    "get(Key, Fields) -> element(2, lists:keyfind(Key, 1, Fields)).\n"
    "assigned(Each) ->\n"
    "    {_, Assignment} = lists:keyfind(case lists:keymember(assignment, 1, Each) of\n"
    "        true -> assignment; false -> member_assignment end, 1, Each),\n"
    "    [{get(topic, Topic), get(partitions, Topic)} || Topic <- get(topic_partitions, Assignment)].\n".

load(Name, Text) -> load(Name, Text, []).

load(Name, Text, Options) ->
    Folder = "compiled-" ++ os:getpid(),
    ok = filelib:ensure_dir(filename:join(Folder, "x")),
    File = filename:join(Folder, Name ++ ".erl"),
    ok = file:write_file(File, Text),
    {ok, Module, Binary} = compile:file(File, [binary, export_all, nowarn_export_all | Options]),
    ok = file:del_dir_r(Folder),
    {module, Module} = code:load_binary(Module, File, Binary),
    ok.
