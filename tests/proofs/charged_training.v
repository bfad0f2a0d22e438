(* Lemmas charges and both budgets of models/mathematics.md, one after the other: the charges of one batch (charges.v), taken in
   every step over the boxes, hold what both_budgets asks of a training of persons (models/boxes/charges.cpp), for substitute,
   remove and add_remove; and the budget of every batch alone. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Holdfast Require Import core_and_radius persons charges.
Import ListNotations.
Open Scope Z_scope.

Section Charged.
Variables (Index : Type) (epoch : nat -> nat) (Gamma : Index -> Z).
Hypothesis HG : forall p, 0 <= Gamma p.
Notation person := (person Index). Notation sound := (persons.sound Index epoch Gamma). Notation box := (box Index). Notation point := (point Index).
(* whose schedule acts in step t, and the bounds of their entries: above, and of the negated ones *)
Definition batch (persons : list person) t : list person := filter (fun P => acts Index P t) persons.
Definition above (persons : list person) t (B : box) p : list Z := map (fun P => upper Index P t B p) (batch persons t).
Definition below (persons : list person) t (B : box) p : list Z := map (fun P => - lower Index P t B p) (batch persons t).
(* e: Gamma of substitute, 0 of remove *)
Variable e : Index -> Z.
(* the charged bounds of a batch: SU + cU and SL - cL *)
Definition top (persons : list person) k t B p : Z := charged (e p) k (above persons t B p).
Definition bottom (persons : list person) k t B p : Z := - charged (e p) k (below persons t B p).
(* who stands in the place of another acts when they did, within e *)
Definition stands_for (P Q : person) : Prop := (forall t, acts Index Q t = acts Index P t) /\
  (forall t x p, Z.abs (contribution Index Q t x p) <= e p) /\ (forall t B p, Z.abs (lower Index Q t B p) <= e p /\ Z.abs (upper Index Q t B p) <= e p).
Fixpoint replaced (rs : list (person * option person)) : list person := match rs with [] => [] | (_, Some Q) :: rs => Q :: replaced rs | (P, None) :: rs => P :: replaced rs end.
Fixpoint changes (rs : list (person * option person)) : nat := match rs with [] => O | (_, Some _) :: rs => S (changes rs) | (_, None) :: rs => changes rs end.
Definition fits (rs : list (person * option person)) : Prop := Forall (fun r => sound (fst r) /\ forall Q, snd r = Some Q -> stands_for (fst r) Q) rs.

Lemma idle P t (f : nat -> Z) : acts Index P t = false -> of_rows Index P t f = 0.
Proof. intros H. unfold of_rows. rewrite H. reflexivity. Qed.
Lemma sums_of_batch (f : person -> Z) t persons : (forall P, acts Index P t = false -> f P = 0) -> sums Index f persons = sum (map f (batch persons t)).
Proof.
  intros H. unfold sums, sum, batch. induction persons as [|P l IH]; cbn; [reflexivity|]. rewrite IH. destruct (acts Index P t) eqn:A; cbn; [reflexivity|]. rewrite H by assumption. lia.
Qed.
Lemma sum_neg {A : Type} (f : A -> Z) l : sum (map (fun a => - f a) l) = - sum (map f l).
Proof. unfold sum. induction l; cbn; [reflexivity|]. rewrite IHl. lia. Qed.
(* the batch of D', as charges.v has it *)
Definition shown (f : person -> Z) t (rs : list (person * option person)) : list (Z * option Z) :=
  map (fun r => (f (fst r), match snd r with Some Q => Some (f Q) | None => None end)) (filter (fun r => acts Index (fst r) t) rs).
Lemma batch_shown (f : person -> Z) t rs : fits rs -> sum (map f (batch (replaced rs) t)) = value (shown f t rs) /\ (gone (shown f t rs) <= changes rs)%nat.
Proof.
  unfold sum, batch, shown. intros F. induction F as [|(P, o) rs (S & St) F IH]; cbn; [lia|]. destruct IH as (I1 & I2). destruct o as [Q|]; cbn.
  - destruct (St Q eq_refl) as (A & _). rewrite A. cbn in *. destruct (acts Index P t); cbn; lia.
  - destruct (acts Index P t); cbn; lia.
Qed.

Theorem charges_of_a_training : forall rs k t B x p, fits rs -> (changes rs <= k)%nat -> holds Index B x ->
  bottom (map fst rs) k t B p <= sums Index (fun P => contribution Index P t x p) (replaced rs) <= top (map fst rs) k t B p.
Proof.
  intros rs k t B x p F K HB. unfold bottom, top. rewrite !charges_formula.
  rewrite (sums_of_batch _ t) by (intros P A; apply idle; exact A).
  assert (F2 : forall f u : person -> Z, (forall P, sound P -> f P <= u P) -> Forall2 (fun r u => fst r <= u) (shown f t rs) (map u (batch (map fst rs) t))).
  { intros f u H. clear K. unfold shown, batch. induction F as [|(P, o) rs (S & St) F IH]; cbn; [constructor|]. destruct (acts Index P t); cbn; [constructor; [apply H; exact S|exact IH]|exact IH]. }
  assert (A : forall f : person -> Z, (forall P Q, stands_for P Q -> f Q <= e p) -> Forall (fun r => forall v, snd r = Some v -> v <= e p) (shown f t rs)).
  { intros f H. clear K F2. unfold shown. induction F as [|(P, o) rs (S & St) F IH]; cbn; [constructor|]. destruct (acts Index P t); cbn; [|exact IH]. constructor; [|exact IH].
    cbn. intros v E. destruct o as [Q|]; [|discriminate]. injection E as <-. apply (H P). apply St. reflexivity. }
  set (c := fun P => contribution Index P t x p).
  destruct (batch_shown c t rs F) as (V & Gn). destruct (batch_shown (fun P => - c P) t rs F) as (V' & Gn'). rewrite (sum_neg c) in V'.
  pose proof (charges_enclose (e p) k (shown c t rs) _ (F2 c (fun P => upper Index P t B p) ltac:(intros P S; apply (person_inclusion Index epoch Gamma P t B x p S HB)))
    (A c ltac:(intros P Q (_ & C & _); specialize (C t x p); unfold c; lia)) ltac:(lia)) as U.
  pose proof (charges_enclose (e p) k (shown (fun P => - c P) t rs) _ (F2 (fun P => - c P) (fun P => - lower Index P t B p) ltac:(intros P S; pose proof (person_inclusion Index epoch Gamma P t B x p S HB); unfold c; lia))
    (A (fun P => - c P) ltac:(intros P Q (_ & C & _); specialize (C t x p); unfold c; lia)) ltac:(lia)) as D.
  unfold above, below. fold c. rewrite V. lia.
Qed.

Lemma lists_nest (f g : person -> Z) t l : Forall sound l -> (forall P, sound P -> f P <= g P) -> Forall2 Z.le (map f (batch l t)) (map g (batch l t)).
Proof. unfold batch. intros F H. induction F as [|P l S F IH]; cbn; [constructor|]. destruct (acts Index P t); cbn; [constructor; [apply H; exact S|exact IH]|exact IH]. Qed.
Lemma split_batch b P a t : batch (b ++ P :: a) t = batch b t ++ (if acts Index P t then P :: batch a t else batch a t).
Proof. unfold batch. rewrite filter_app. reflexivity. Qed.
(* neighbours, over a box within: the charged bounds of one level less lie within *)
Theorem charged_bounds_nest : forall b P Q a k t A B p, Forall sound (b ++ P :: a) -> stands_for P Q -> proper Index A -> inside Index A B ->
  bottom (b ++ P :: a) (S k) t B p <= bottom (b ++ Q :: a) k t A p /\ top (b ++ Q :: a) k t A p <= top (b ++ P :: a) (S k) t B p.
Proof.
  intros b P Q a k t A B p F (Act & _ & Bd) HA I. apply Forall_app in F. destruct F as (Fb & Fa). inversion_clear Fa as [|? ? Sp Fa2].
  assert (main : forall f g : person -> Z, (forall P, sound P -> f P <= g P) -> f Q <= e p ->
    worst (e p) k (map f (batch (b ++ Q :: a) t)) <= worst (e p) (S k) (map g (batch (b ++ P :: a) t))).
  { intros f g H HQ. rewrite !split_batch, Act, !map_app. pose proof (lists_nest f g t b Fb H) as Nb. pose proof (lists_nest f g t a Fa2 H) as Na. destruct (acts Index P t); cbn [map].
    - apply (charges_nest (e p) k _ (g P) _ _ _ Nb Na). exact HQ.
    - rewrite <- !map_app. pose proof (worst_mono (e p) _ _ (Forall2_app Nb Na) k) as M. rewrite <- !map_app in M. eapply Z.le_trans; [exact M|apply worst_more]. }
  unfold bottom, top. rewrite !charges_formula. unfold above, below. destruct (Bd t A p). split.
  - pose proof (main (fun P => - lower Index P t A p) (fun P => - lower Index P t B p) ltac:(intros R S; pose proof (person_isotony Index epoch Gamma R t A B p S HA I); cbv beta; lia) ltac:(cbv beta; lia)). lia.
  - apply main; [intros R S; apply (person_isotony Index epoch Gamma R t A B p S HA I)|lia].
Qed.

(* ---- The boxes of the budget of every batch ---- *)
Variables (L : Z) (R : Index -> nat -> Z) (step left : Index -> nat -> state -> Z -> state) (start : states_of Index).
Hypothesis opt : optimiser Index L epoch Gamma R step left.
Definition parameters (P : pairs Index) : box := {| tlo := fun p => fst (lo _ P p); thi := fun p => fst (hi _ P p) |}.
Fixpoint charged_boxes (persons : list person) (k t : nat) : pairs Index := match t with
  | O => {| lo := start; hi := start |}
  | S t => let P := charged_boxes persons k t in
    {| lo := fun p => step p t (lo _ P p) (top persons k t (parameters P) p); hi := fun p => step p t (hi _ P p) (bottom persons k t (parameters P) p) |} end.
Definition trained (persons : list person) : nat -> states_of Index := run Index step start (dataset_of Index (fun _ _ _ P => P) persons).
Theorem budget_of_batches : forall rs k, fits rs -> (changes rs <= k)%nat -> forall t, holds_pairs Index (charged_boxes (map fst rs) k t) (trained (replaced rs) t).
Proof.
  intros rs k F K t. destruct opt as (order & _). induction t as [|t IH]; intros p; [split; apply le_refl|]. cbn [charged_boxes trained run lo hi].
  assert (H : holds Index (parameters (charged_boxes (map fst rs) k t)) (theta Index (trained (replaced rs) t))) by (intros q; destruct (IH q) as ((A & _) & (B & _)); split; assumption).
  pose proof (charges_of_a_training rs k t _ _ p F K H) as C. destruct (IH p). split; apply order; try assumption; apply C.
Qed.
Lemma nobody_replaced persons : Forall sound persons -> fits (map (fun P => (P, None)) persons) /\ replaced (map (fun P => (P, None)) persons) = persons /\
  map fst (map (fun P : person => (P, @None person)) persons) = persons /\ changes (map (fun P => (P, None)) persons) = O.
Proof.
  intros F. induction F as [|P l S F (I1 & I2 & I3 & I4)]; cbn; [repeat split; constructor|]. rewrite I2, I3, I4. repeat split. constructor; [|exact I1]. split; [exact S|]. discriminate.
Qed.
Theorem budget_of_batches_nests : forall b P Q a k, Forall sound (b ++ P :: a) -> sound Q -> stands_for P Q ->
  forall t, inside_pairs Index (charged_boxes (b ++ Q :: a) k t) (charged_boxes (b ++ P :: a) (S k) t).
Proof.
  intros b P Q a k F HQ St t. pose proof opt as (order & _). induction t as [|t IH]; intros p; [split; apply le_refl|]. cbn [charged_boxes lo hi].
  assert (Fq : Forall sound (b ++ Q :: a)) by (apply Forall_app in F; destruct F as (Fb & Fa); inversion_clear Fa; apply Forall_app; split; [|constructor]; assumption).
  destruct (nobody_replaced _ Fq) as (N1 & N2 & N3 & N4).
  assert (Pr : proper Index (parameters (charged_boxes (b ++ Q :: a) k t))).
  { intros q. pose proof (budget_of_batches _ k N1 ltac:(lia) t q) as H. rewrite N3 in H. destruct H as ((A & _) & (B & _)). cbn. lia. }
  assert (I : inside Index (parameters (charged_boxes (b ++ Q :: a) k t)) (parameters (charged_boxes (b ++ P :: a) (S k) t))) by (intros q; destruct (IH q) as ((A & _) & (B & _)); split; assumption).
  destruct (charged_bounds_nest b P Q a k t _ _ p F St Pr I). destruct (IH p). split; apply order; assumption.
Qed.

(* ---- Both budgets: charged is over all that a charged box has in common with the widened core. ---- *)
Definition charged_on (persons : list person) (k t : nat) (B : box) (P : pairs Index) : pairs Index :=
  {| lo := fun p => step p t (tlo _ B p, snd (lo _ P p)) (top persons k t B p); hi := fun p => step p t (thi _ B p, snd (hi _ P p)) (bottom persons k t B p) |}.
Definition of_both (persons : list person) : dataset Index := dataset_of Index (charged_on persons) persons.
Theorem charges_of_both_budgets :
  (forall rs k, fits rs -> (changes rs <= k)%nat -> charges_hold Index step start (of_both (map fst rs)) (of_both (replaced rs)) k) /\
  (forall b P Q a k, Forall sound (b ++ P :: a) -> stands_for P Q -> core_and_radius.charges_nest Index (of_both (b ++ P :: a)) (of_both (b ++ Q :: a)) (S k) k).
Proof.
  destruct opt as (order & _). split.
  - intros rs k F K t B P HB HP p. pose proof (charges_of_a_training rs k t B _ p F K HB) as C. destruct (HB p). destruct (HP p) as ((_ & P1) & (_ & P2)).
    split; apply order; try (split; assumption); apply C.
  - intros b P Q a k F St t A B X Y Pr HA HP p. destruct (charged_bounds_nest b P Q a k t A B p F St Pr HA). destruct (HA p). destruct (HP p) as ((_ & P1) & (_ & P2)).
    split; apply order; try (split; assumption); assumption.
Qed.
End Charged.

(* ---- Examples, and wrong statements refuted: Gamma 3; one of two rows may take 1, so a person of two rows of 1 adds 2 ---- *)
Lemma two_rows_stand e : 2 <= e -> stands_for unit (fun _ => e) (rows_of 1 2) (rows_of (-1) 2).
Proof.
  intros H. split; [reflexivity|]. split; intros; unfold contribution, lower, upper, of_rows; cbn; destruct (acts_at 1 t); cbn; lia.
Qed.
Lemma two_rows_fit : fits unit first_steps (fun _ => 3) (fun _ => 3) [(rows_of 1 2, Some (rows_of (-1) 2)); (rows_of 1 2, None)].
Proof.
  constructor; [split; [apply two_rows_sound|cbn; intros Q E; inversion E; apply two_rows_stand; lia]|].
  constructor; [split; [apply two_rows_sound|cbn; discriminate]|constructor].
Qed.
Definition one_box : box unit := {| tlo := fun _ => 0; thi := fun _ => 0 |}.
Example charges_of_a_training_example : bottom unit (fun _ => 3) [rows_of 1 2; rows_of 1 2] 1 1 one_box tt <=
  sums unit (fun P => contribution unit P 1 (fun _ => 0) tt) [rows_of (-1) 2; rows_of 1 2] <= top unit (fun _ => 3) [rows_of 1 2; rows_of 1 2] 1 1 one_box tt.
Proof. apply (charges_of_a_training unit first_steps (fun _ => 3) (fun _ => 3) _ 1 1 one_box (fun _ => 0) tt two_rows_fit); [cbn; lia|intros p; cbn; lia]. Qed.
Lemma two_persons_sound : Forall (persons.sound unit first_steps (fun _ => 3)) ([rows_of 1 2] ++ rows_of 1 2 :: []).
Proof. constructor; [apply two_rows_sound|]. constructor; [apply two_rows_sound|constructor]. Qed.
Example charged_bounds_nest_example : bottom unit (fun _ => 3) [rows_of 1 2; rows_of 1 2] 2 1 one_box tt <= bottom unit (fun _ => 3) [rows_of 1 2; rows_of (-1) 2] 1 1 one_box tt /\
  top unit (fun _ => 3) [rows_of 1 2; rows_of (-1) 2] 1 1 one_box tt <= top unit (fun _ => 3) [rows_of 1 2; rows_of 1 2] 2 1 one_box tt.
Proof.
  apply (charged_bounds_nest unit first_steps (fun _ => 3) (fun _ => 3) [rows_of 1 2] (rows_of 1 2) (rows_of (-1) 2) [] 1 1 one_box one_box tt two_persons_sound);
    [apply two_rows_stand; lia|intros p; cbn; lia|intros p; cbn; lia].
Qed.
Lemma descends : optimiser unit 100 first_steps (fun _ => 3) (radius unit 100 first_steps 2 (fun _ => 3) tenth tenth) (descent unit 100 tenth tenth) (descent_left unit tenth tenth).
Proof. apply core_and_radius; unfold first_steps, tenth; intros; try lia; lra. Qed.
Example budget_of_batches_example : forall t, holds_pairs unit (charged_boxes unit (fun _ => 3) (descent unit 100 tenth tenth) at_5 [rows_of 1 2; rows_of 1 2] 1 t)
  (trained unit (descent unit 100 tenth tenth) at_5 [rows_of (-1) 2; rows_of 1 2] t).
Proof. apply (budget_of_batches unit first_steps (fun _ => 3) (fun _ => 3) 100 _ _ _ at_5 descends _ 1 two_rows_fit). cbn. lia. Qed.
Example budget_of_batches_nests_example : forall t, inside_pairs unit (charged_boxes unit (fun _ => 3) (descent unit 100 tenth tenth) at_5 [rows_of 1 2; rows_of (-1) 2] 1 t)
  (charged_boxes unit (fun _ => 3) (descent unit 100 tenth tenth) at_5 [rows_of 1 2; rows_of 1 2] 2 t).
Proof.
  apply (budget_of_batches_nests unit first_steps (fun _ => 3) (fun _ => 3) 100 _ _ _ at_5 descends [rows_of 1 2] (rows_of 1 2) (rows_of (-1) 2) [] 1 two_persons_sound).
  - repeat split; try (apply acts_once); cbn; try lia; intros; vm_compute; discriminate || lia.
  - apply two_rows_stand. lia.
Qed.
(* Nobody charged where one is replaced; the same level; *)
Fact charges_of_a_training_mutant : ~ bottom unit (fun _ => 3) [rows_of 1 2] 0 1 one_box tt <= sums unit (fun P => contribution unit P 1 (fun _ => 0) tt) [rows_of (-1) 2].
Proof. intros H. vm_compute in H. apply H. reflexivity. Qed.
Fact charged_bounds_nest_mutant : ~ bottom unit (fun _ => 3) [rows_of 1 2] 0 1 one_box tt <= bottom unit (fun _ => 3) [rows_of (-1) 2] 0 1 one_box tt.
Proof. intros H. vm_compute in H. apply H. reflexivity. Qed.
Fact budget_of_batches_mutant : ~ holds_pairs unit (charged_boxes unit (fun _ => 3) plain (fun _ => zero) [rows_of 1 2] 0 2) (trained unit plain (fun _ => zero) [rows_of (-1) 2] 2).
Proof. intros H. specialize (H tt). vm_compute in H. destruct H as (_ & (H & _)). apply H. reflexivity. Qed.
Fact budget_of_batches_nests_mutant : ~ inside_pairs unit (charged_boxes unit (fun _ => 3) plain (fun _ => zero) [rows_of (-1) 2] 0 2) (charged_boxes unit (fun _ => 3) plain (fun _ => zero) [rows_of 1 2] 0 2).
Proof. intros H. specialize (H tt). vm_compute in H. destruct H as (_ & (H & _)). apply H. reflexivity. Qed.
Example charges_of_both_budgets_example : let D := of_both unit (fun _ => 3) (descent unit 100 tenth tenth) in
  charges_hold unit (descent unit 100 tenth tenth) at_5 (D [rows_of 1 2; rows_of 1 2]) (D [rows_of (-1) 2; rows_of 1 2]) 1.
Proof. apply (proj1 (charges_of_both_budgets unit first_steps (fun _ => 3) (fun _ => 3) 100 _ _ _ at_5 descends) _ 1%nat two_rows_fit). cbn. lia. Qed.
Fact charges_of_both_budgets_mutant : let D := of_both unit (fun _ => 3) plain in ~ charges_hold unit plain (fun _ => zero) (D [rows_of 1 2]) (D [rows_of (-1) 2]) 0.
Proof.
  intros D H. specialize (H 1%nat one_box {| lo := fun _ => zero; hi := fun _ => zero |} ltac:(intros p; vm_compute; split; discriminate) ltac:(intros p; vm_compute; repeat split; discriminate) tt).
  vm_compute in H. destruct H as (_ & (H & _)). apply H. reflexivity.
Qed.
