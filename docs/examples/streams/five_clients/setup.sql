-- Five clients of Oracle Streams: a capture process, a synchronous capture, two propagations, two apply processes and
-- a messaging client. SQL*Plus runs this at the source, as the Streams administrator.
SET ECHO ON

BEGIN
  DBMS_STREAMS_ADM.SET_UP_QUEUE(queue_table => 'hr_queue_table', queue_name => 'hr_queue');
  DBMS_STREAMS_ADM.SET_UP_QUEUE(queue_table => 'order_queue_table', queue_name => 'order_queue');
END;
/

-- The capture process: all of HR with its DDL, but no scratch tables; salaries never leave the source.
DECLARE
  dml_rule VARCHAR2(64);
  ddl_rule VARCHAR2(64);
BEGIN
  DBMS_STREAMS_ADM.ADD_SCHEMA_RULES(
    schema_name    => 'hr',
    streams_type   => 'capture',
    streams_name   => 'hr_capture',
    queue_name     => 'hr_queue',
    include_dml    => TRUE,
    include_ddl    => TRUE,
    dml_rule_name  => dml_rule,
    ddl_rule_name  => ddl_rule);
  DBMS_STREAMS_ADM.DELETE_COLUMN(
    rule_name   => dml_rule,
    table_name  => 'hr.employees',
    column_name => 'salary');
  DBMS_STREAMS_ADM.ADD_TABLE_RULES(
    table_name     => 'hr.scratch',
    streams_type   => 'capture',
    streams_name   => 'hr_capture',
    queue_name     => 'hr_queue',
    include_ddl    => TRUE,
    inclusion_rule => FALSE,
    include_tagged_lcr => TRUE);
END;
/

-- Propagations: everything to the headquarters' queue, the employees of department 50 to the branch's.
BEGIN
  DBMS_STREAMS_ADM.ADD_SCHEMA_PROPAGATION_RULES(
    schema_name            => 'hr',
    streams_name           => 'to_headquarters',
    source_queue_name      => 'hr_queue',
    destination_queue_name => 'headquarters_queue',
    include_ddl            => TRUE,
    source_database        => 'hr');
  DBMS_STREAMS_ADM.ADD_SUBSET_PROPAGATION_RULES(
    table_name             => 'hr.employees',
    dml_condition          => 'department_id = 50',
    streams_name           => 'to_branch',
    source_queue_name      => 'hr_queue',
    destination_queue_name => 'branch_queue',
    source_database        => 'hr');
END;
/

-- Apply processes: the schema has another name at the headquarters.
DECLARE
  dml_rule VARCHAR2(64);
  ddl_rule VARCHAR2(64);
BEGIN
  DBMS_STREAMS_ADM.ADD_SCHEMA_RULES(
    schema_name     => 'hr',
    streams_type    => 'apply',
    streams_name    => 'headquarters_apply',
    queue_name      => 'headquarters_queue',
    include_ddl     => TRUE,
    source_database => 'hr',
    dml_rule_name   => dml_rule,
    ddl_rule_name   => ddl_rule);
  DBMS_STREAMS_ADM.RENAME_SCHEMA(
    rule_name        => dml_rule,
    from_schema_name => 'hr',
    to_schema_name   => 'staff');
  DBMS_STREAMS_ADM.ADD_TABLE_RULES(
    table_name      => 'hr.employees',
    streams_type    => 'apply',
    streams_name    => 'branch_apply',
    queue_name      => 'branch_queue',
    source_database => 'hr');
END;
/

-- The synchronous capture of orders, and the messaging client that takes them out of its queue.
BEGIN
  DBMS_STREAMS_ADM.ADD_TABLE_RULES(
    table_name   => 'oe.orders',
    streams_type => 'sync_capture',
    streams_name => 'order_capture',
    queue_name   => 'order_queue');
  DBMS_STREAMS_ADM.ADD_TABLE_RULES(
    table_name      => 'oe.orders',
    streams_type    => 'dequeue',
    streams_name    => 'order_client',
    queue_name      => 'order_queue',
    and_condition   => ':lcr.get_command_type() <> ''DELETE''');
END;
/

EXEC DBMS_CAPTURE_ADM.START_CAPTURE('hr_capture');
EXEC DBMS_APPLY_ADM.START_APPLY('headquarters_apply');
EXEC DBMS_APPLY_ADM.START_APPLY('branch_apply');
