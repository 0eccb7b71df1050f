# Runs the assignment strategy of ruby-kafka, from the folder of a release: ruby assignors.rb ruby-kafka-1.5.0 STRATEGY
#
# Reads one group per line and writes one line per group: the partitions of each member under the name of the strategy.
require "json"
require "set"

folder, strategy_name = ARGV
$LOAD_PATH.unshift(File.join(folder, "lib"))

# The whole library needs other gems.
module Kafka
  class Error < StandardError; end
  class UnknownTopicOrPartition < Error; end
  class LeaderNotAvailable < Error; end
end

require "kafka/consumer_group"

Listed = Struct.new(:partition_id)
Joined = Struct.new(:version, :topics, :user_data)

class Cluster
  def initialize(partitions)
    @partitions = partitions
  end

  def partitions_for(topic)
    count = @partitions.fetch(topic, 0)
    raise Kafka::UnknownTopicOrPartition if count.zero?
    Array.new(count) { |number| Listed.new(number) }
  end
end

class Silent
  def info(*); end

  def instrument(*)
    yield
  end
end

class Coordinator
  def sync_group(group_assignment:, **)
    throw :assigned, group_assignment
  end
end

# A leader that has joined, of any release: since 1.3 an assignor calls the strategy.
def leader(cluster, members, topics)
  group = Kafka::ConsumerGroup.allocate
  given = { cluster: cluster, members: members, topics: topics, coordinator: Coordinator.new, member_id: "", leader_id: "" }
  given = given.merge(logger: Silent.new, instrumenter: Silent.new)
  if defined?(Kafka::ConsumerGroup::Assignor)
    strategy = Kafka::RoundRobinAssignmentStrategy.new
    given[:assignor] = Kafka::ConsumerGroup::Assignor.new(cluster: cluster, strategy: strategy)
  else
    given[:assignment_strategy] = Kafka::RoundRobinAssignmentStrategy.new(cluster: cluster)
  end
  given.each { |name, value| group.instance_variable_set("@#{name}", value) }
  group
end

def ask(topics, members, leaders_topics)
  joined = members.to_h { |member| [member["member_id"], Joined.new(0, member["topics"], nil)] }
  group = leader(Cluster.new(topics), joined, Set.new(leaders_topics))
  assigned = catch(:assigned) { group.send(:synchronize) }
  assigned.transform_values { |given| given.topics.flat_map { |topic, numbers| numbers.map { |n| [topic, n] } } }
rescue Kafka::UnknownTopicOrPartition
  "UnknownTopic"
end

$stdin.each_line do |line|
  group = JSON.parse(line)
  puts JSON.generate(strategy_name => ask(group["topics"], group["members"], group["leaders_topics"]))
end
